/** What an e-mail address looks like; whether it is one, only its host knows. */
export const emailPattern = /^[^\s@]+@[^\s@]+$/;
