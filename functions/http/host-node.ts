import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { delay, type World } from '../kernel/world.ts';
import { type ConnectionTimeouts, connectionTimeouts, guardConnections } from './connection.ts';
import { createExchange } from './exchange.ts';
import type { Chain } from './message.ts';

export interface NodeHostOptions {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  readonly world: Pick<World, 'clock' | 'timers' | 'random'>;
  readonly timeouts?: ConnectionTimeouts;
  /** How long `stop` waits for requests under way before it gives them up. */
  readonly drainMs?: number;
}

export interface NodeHost {
  readonly address: AddressInfo;
  /** For a person: `http://127.0.0.1:5220`. */
  readonly url: string;
  /** Accepts no more requests, waits for those under way, then closes. */
  stop(): Promise<void>;
}

// More than the chain allows, so that the chain answers a slightly larger header section with a problem document.
const headerBytesMax = 64 * 1024;
// Less than the system delivers at once, so that a request with an unread body buffers one piece of it, not three.
const bufferedBytes = 32 * 1024;
const checkIntervalMs = 1_000;
// How long kept connections may still bring requests that clients have just sent.
const lastRequestsMs = 100;
// The time for aborted handlers to answer.
const abortGraceMs = 500;

/** Serves the chain on plain `node:http`; resolves when the port is open. */
export async function serveNode(chain: Chain, options: NodeHostOptions): Promise<NodeHost> {
  const { world, timeouts = connectionTimeouts, drainMs = 8_000 } = options;
  const exchange = createExchange(chain, world);
  const server = createServer({
    maxHeaderSize: headerBytesMax,
    highWaterMark: bufferedBytes,
    requireHostHeader: false,
    connectionsCheckingInterval: Math.min(checkIntervalMs, timeouts.headersMs),
  });
  guardConnections(server, chain, exchange, world, timeouts);
  for (const event of ['request', 'checkContinue', 'checkExpectation'] as const)
    server.on(event, exchange.handle);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  const address = server.address() as AddressInfo;
  const name = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  return {
    address,
    url: `http://${name}:${address.port}`,
    async stop() {
      // Every later answer closes its connection. The delay lets the server answer requests that clients have just sent;
      // closing at once would reset them.
      exchange.closeConnections();
      await delay(world.timers, lastRequestsMs);
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      server.closeIdleConnections();
      const drained = exchange.idle().then(() => true);
      if (!(await Promise.race([drained, delay(world.timers, drainMs).then(() => false)]))) {
        exchange.abort();
        await Promise.race([drained, delay(world.timers, abortGraceMs)]);
      }
      server.closeAllConnections();
      await closed;
    },
  };
}
