/** Calls the functions that the parent process asks for by name, and ends with the parent. */
export function serveParent(functions: object): void;
