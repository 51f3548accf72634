import { errorMessage } from './errorMessage.ts';

/** Why it cannot listen there, in words. */
export function listenProblem(error: unknown, host: string, port: number): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return wordsOf(code, host, port) ?? errorMessage(error);
}

function wordsOf(code: string, host: string, port: number): string | null {
  switch (code) {
    case 'EADDRINUSE':
      return `port ${port} of ${host} is in use by another program`;
    case 'EADDRNOTAVAIL':
      return `${host} is not an address of this computer`;
    case 'EACCES':
      return `port ${port} needs more rights. Choose one above 1023`;
    case 'EAFNOSUPPORT':
      return `this computer has no address of the kind of ${host}`;
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `there is no host ${host}`;
    default:
      return null;
  }
}
