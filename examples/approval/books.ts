import { generateKeyPairSync, type KeyObject, sign, verify } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Notice, SignedNotice } from './approval.ts';

/** A request as it came. */
export interface Told {
  readonly key: string;
  readonly body: string;
}

/**
 * Receives the callbacks, signs each decision and keeps it by its idempotency key. Of every key it refuses the first request,
 * and breaks off the second one after it has taken the decision: the answer comes with the third.
 */
export class Books {
  readonly address: string;
  readonly told: Told[] = [];
  /** What was taken, in its order. A request with a known key takes nothing. */
  readonly taken: Told[] = [];
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

  /** What was signed; throws where the signature is not that of these books. */
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
    const told = { key: String(request.headers['idempotency-key']), body: await text(request) };
    this.told.push(told);
    // No request is to meet a connection that is being closed: they fail as they are made to, and no other way.
    response.setHeader('connection', 'close');
    if (this.told.filter(({ key }) => key === told.key).length === 1) {
      response.writeHead(503).end();
      return;
    }
    const known = this.#answers.get(told.key);
    if (known === undefined) {
      this.#take(told);
      response.destroy();
    } else if (known.text !== told.body) {
      response.writeHead(409).end();
    } else {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(known));
    }
  }

  #take(told: Told): void {
    const signature = sign(null, Buffer.from(told.body), this.#privateKey).toString('base64');
    this.#answers.set(told.key, { text: told.body, signature });
    this.taken.push(told);
  }
}
