import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Relay {
  readonly address: string;
  /** How many requests each server got. */
  readonly counts: readonly number[];
  close(): Promise<void>;
}

export interface RelayOptions {
  /** Called before each request is sent on, with the number of requests before it; the request waits for it. */
  readonly before?: (requests: number) => Promise<void>;
}

/**
 * A load balancer without affinity: it sends each request to the next of the servers. A place of the list that is
 * `undefined` has no server at the time.
 */
export async function startRelay(
  servers: readonly ({ readonly address: string } | undefined)[],
  { before }: RelayOptions = {},
): Promise<Relay> {
  const counts = servers.map(() => 0);
  let next = 0;
  let requests = 0;
  const pass = (incoming: IncomingMessage, response: ServerResponse) => {
    while (servers[next % servers.length] === undefined) next += 1;
    const index = next % servers.length;
    next += 1;
    counts[index] = (counts[index] ?? 0) + 1;
    const target = new URL(incoming.url ?? '/', servers[index]?.address);
    const onward = request(target, { method: incoming.method, headers: incoming.headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    onward.once('error', () => response.destroy());
    incoming.pipe(onward);
  };
  const relay = createServer((incoming, response) => {
    if (before === undefined) return pass(incoming, response);
    before(requests++).then(
      () => pass(incoming, response),
      () => response.destroy(),
    );
  });
  await new Promise<void>((resolve) => {
    relay.listen(0, '127.0.0.1', resolve);
  });
  return {
    address: `http://127.0.0.1:${(relay.address() as AddressInfo).port}`,
    counts,
    close: () =>
      new Promise((resolve) => {
        relay.close(() => resolve());
        relay.closeAllConnections();
      }),
  };
}
