export const emailPattern = /^[^\s@]+@[^\s@]+$/;
