/** The shape of an e-mail address. */
export const emailPattern = /^[^\s@]+@[^\s@]+$/;
