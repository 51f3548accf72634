/** From where Home Assistant's Supervisor asks an app for its page, on the network that only apps are in. */
export const ingressFrom = '172.30.32.2';
