import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { atTestEnd } from './childProcess.ts';

/** A stream of server-sent events that is being read. */
export interface EventStream {
  readonly response: IncomingMessage;
  /** All that has come. */
  readonly text: string;
  readonly isOver: boolean;
  /** The documents, oldest first. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into documents of many shapes
  readonly documents: any[];
  readonly request: ClientRequest;
}

/** Reads a stream until the end of the test. */
export function readEvents(url: string): Promise<EventStream> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { agent: false }, (response) => {
      let text = '';
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
          const events = [...text.matchAll(/^event: status\ndata: (.*)\n\n/gm)];
          return events.map(([, data = '']) => JSON.parse(data).status);
        },
      });
    });
    request.on('error', reject);
    atTestEnd(() => request.destroy());
    request.end();
  });
}
