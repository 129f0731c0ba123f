import { generateKeyPairSync, type KeyObject, sign, verify } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Notice, SignedNotice } from './approval.ts';

/** A received request. */
export interface ReceivedRequest {
  readonly key: string;
  readonly body: string;
}

/**
 * Receives callbacks, signs each decision and stores it by idempotency key. For every key it refuses the first
 * request and disconnects the second one after storing the decision; the third gets the answer.
 */
export class Books {
  readonly address: string;
  readonly received: ReceivedRequest[] = [];
  /** The accepted notices in their order. A request with a known key adds nothing. */
  readonly accepted: ReceivedRequest[] = [];
  readonly #server: Server;
  readonly #privateKey: KeyObject;
  readonly #publicKey: KeyObject;
  readonly #answers = new Map<string, SignedNotice>();

  private constructor(server: Server) {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    this.#privateKey = privateKey;
    this.#publicKey = publicKey;
    this.#server = server.on('request', (request, response) => void this.#receive(request, response));
    this.address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/decisions`;
  }

  static async open(): Promise<Books> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new Books(server);
  }

  /** Verifies and parses a signed notice; throws for a signature of another origin. */
  read({ text: signed, signature }: SignedNotice): Notice {
    const isOurs = verify(null, Buffer.from(signed), this.#publicKey, Buffer.from(signature, 'base64'));
    if (!isOurs) throw new Error('the signature is not that of the books');
    return JSON.parse(signed) as Notice;
  }

  async close(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const notice = { key: String(request.headers['idempotency-key']), body: await text(request) };
    this.received.push(notice);
    // Close each connection, so that a request fails only in the way that the test intends.
    response.setHeader('connection', 'close');
    if (this.received.filter(({ key }) => key === notice.key).length === 1) {
      response.writeHead(503).end();
      return;
    }
    const known = this.#answers.get(notice.key);
    if (known === undefined) {
      this.#accept(notice);
      response.destroy();
    } else if (known.text !== notice.body) {
      response.writeHead(409).end();
    } else {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(known));
    }
  }

  #accept(notice: ReceivedRequest): void {
    const signature = sign(null, Buffer.from(notice.body), this.#privateKey).toString('base64');
    this.#answers.set(notice.key, { text: notice.body, signature });
    this.accepted.push(notice);
  }
}
