import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

interface Break {
  readonly keyPrefix: string;
  readonly when: 'before' | 'after';
  readonly act: () => void;
}

/**
 * A proxy between importer and service that can interrupt one commit: before it reaches the service, or after the
 * service has made it and before the importer gets the answer.
 */
export class Front {
  readonly address: string;
  readonly #server: Server;
  readonly #target: string;
  #break: Break | null = null;

  private constructor(server: Server, target: string) {
    this.#server = server;
    this.#target = target;
    this.address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  static async start(target: string): Promise<Front> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const front = new Front(server, target);
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      front.#handle(request, response).catch(() => response.destroy());
    });
    return front;
  }

  /** Settles when the first commit with this key prefix reaches that point; the commit gets no answer. */
  breakOff(when: Break['when'], keyPrefix: string): Promise<void> {
    return new Promise((resolve) => {
      this.#break = { keyPrefix, when, act: resolve };
    });
  }

  async stop(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    const broken = this.#breakOf(body);
    if (broken?.when === 'before') return broken.act();
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(`${this.#target}${request.url}`, { method: 'POST', headers, body });
    const bytes = Buffer.from(await answer.arrayBuffer());
    if (broken?.when === 'after') return broken.act();
    response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(bytes);
  }

  #breakOf(body: string): Break | null {
    const { idempotencyKey } = JSON.parse(body) as { idempotencyKey?: string };
    if (this.#break === null || idempotencyKey?.startsWith(this.#break.keyPrefix) !== true) return null;
    const broken = this.#break;
    this.#break = null;
    return broken;
  }
}
