import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Answers one request, whose body has arrived whole. */
export type LocalAnswer = (
  request: IncomingMessage,
  body: Buffer,
  response: ServerResponse,
) => Promise<void> | void;

/** A server on a free port of loopback, for stand-ins of other services. A failure of the stand-in answers 500. */
export class LocalHttp implements AsyncDisposable {
  readonly #server;

  private constructor(answer: LocalAnswer) {
    this.#server = createServer((request, response) => {
      void served(answer, request, response).catch((error: unknown) => {
        response.writeHead(500).end(String(error));
      });
    });
  }

  static async start(answer: LocalAnswer): Promise<LocalHttp> {
    const started = new LocalHttp(answer);
    started.#server.listen(0, '127.0.0.1');
    await once(started.#server, 'listening');
    return started;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

async function served(
  answer: LocalAnswer,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  await answer(request, Buffer.concat(chunks), response);
}
