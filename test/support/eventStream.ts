import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { atTestEnd } from './childProcess.ts';

/** An open stream of server-sent events. */
export interface EventStream {
  readonly response: IncomingMessage;
  /** Everything received so far. */
  readonly text: string;
  readonly isOver: boolean;
  /** The received documents, oldest first. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into documents of many shapes
  readonly documents: any[];
  readonly request: ClientRequest;
}

/** Reads a stream. It ends with the test. */
export function readEvents(url: string): Promise<EventStream> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { agent: false }, (response) => {
      let text = '';
      // A waiting test reads the documents again and again, so each is parsed only once.
      const documents: unknown[] = [];
      let readTo = 0;
      let isOver = false;
      const end = () => {
        isOver = true;
      };
      response.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
      });
      response.on('close', end).on('error', end);
      resolve({
        response,
        request,
        get text() {
          return text;
        },
        get isOver() {
          return isOver;
        },
        get documents() {
          const events = text.slice(readTo).matchAll(/event: status\ndata: (.*)\n\n/g);
          const from = readTo;
          for (const { 0: whole, 1: data = '', index } of events) {
            documents.push(JSON.parse(data).status);
            readTo = from + index + whole.length;
          }
          return documents;
        },
      });
    });
    request.on('error', reject);
    atTestEnd(() => request.destroy());
    request.end();
  });
}
