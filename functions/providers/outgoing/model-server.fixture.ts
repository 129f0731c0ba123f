import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo, LookupFunction } from 'node:net';
import { TurnRoom } from '../../kernel/turn-room.ts';
import type { World } from '../../kernel/world.ts';
import { guardedHttp } from './guarded-http.ts';

export interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export type Reply = (response: ServerResponse, received: Received) => void;

export interface ModelServer {
  /** By the name `model.test`. */
  readonly address: string;
  readonly port: number;
  readonly received: Received[];
  readonly close: () => Promise<void>;
}

/** A server that records its requests. The replies are given one after the other, the last one for all further requests. */
export async function startModelServer(...replies: readonly Reply[]): Promise<ModelServer> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const body = Buffer.concat(chunks).toString();
      const one = { method, url, headers, body };
      const reply = replies[Math.min(received.push(one), replies.length) - 1];
      reply?.(response, one);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const close = async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  };
  return { address: `http://model.test:${port}`, port, received, close };
}

export function json(value: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): Reply {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value));
  };
}

const addresses: Readonly<Record<string, readonly string[]>> = {
  'model.test': ['127.0.0.1'],
  'metadata.test': ['169.254.169.254'],
  'both.test': ['127.0.0.1', '169.254.169.254'],
  'mapped.test': ['::ffff:169.254.169.254'],
  'translated.test': ['64:ff9b::a9fe:a9fe'],
  'second.test': ['127.0.0.1', 'fd20:ce::254'],
};

const lookup: LookupFunction = (hostname, _, callback) => {
  const found = addresses[hostname] ?? [];
  callback(
    null,
    found.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
  );
};

/** A world with real connections, in which waits end at once and are recorded, and the test ends long waits. */
export class ModelWorld implements World {
  readonly waits: number[] = [];
  #late: (() => void)[] = [];
  readonly clock = { now: () => Date.UTC(2026, 0, 1) };
  readonly turns = new TurnRoom(this.clock);
  readonly random = { bytes: (size: number) => new Uint8Array(size) };
  readonly timers = {
    after: (delayMs: number, callback: () => void) => {
      if (delayMs >= TIMEOUT_MS) {
        this.#late.push(callback);
        return () => {
          this.#late = this.#late.filter((each) => each !== callback);
        };
      }
      this.waits.push(delayMs);
      setImmediate(callback);
      return () => undefined;
    },
  };
  readonly http: World['http'];

  constructor(namedHosts: readonly string[] = []) {
    this.http = guardedHttp({ lookup, namedHosts: new Set(namedHosts) });
  }

  /** Ends the calls under way as timed out, or the first of the recorded waits. */
  timeOut(count = this.#late.length): void {
    for (const callback of this.#late.slice(0, count)) callback();
  }
}

/** The time limit of a whole call. */
export const TIMEOUT_MS = 30_000;
