import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { postgresSocketFolder } from '../support/postgres.ts';

const socketName = '.s.PGSQL.5432';

export type Passage = 'pass' | 'cut' | Promise<void>;

/** A proxy that passes everything on, counts the turns, and interferes as the test demands. */
export interface Proxy {
  /** The folder of its socket. */
  readonly folder: string;
  /** Times that a client spoke after the server had: round trips, and what a client sends without waiting. */
  turns: number;
  connections: number;
  /** The fate of a client's packet: it passes on, the connection breaks, or it passes on once the promise settles. */
  onRequest: (bytes: Buffer) => Passage;
  /** The same for the answers of the server. */
  onAnswer: (bytes: Buffer) => Passage;
  close(): Promise<void>;
}

export async function startProxy(): Promise<Proxy> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-proxy-'));
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    proxy.connections += 1;
    const upstream = connect(join(postgresSocketFolder(), socketName));
    let clientSpoke = false;
    pass(client, upstream, (bytes) => {
      if (!clientSpoke) proxy.turns += 1;
      clientSpoke = true;
      return proxy.onRequest(bytes);
    });
    pass(upstream, client, (bytes) => {
      clientSpoke = false;
      return proxy.onAnswer(bytes);
    });
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
    }
  });
  const proxy: Proxy = {
    folder,
    turns: 0,
    connections: 0,
    onRequest: () => 'pass',
    onAnswer: () => 'pass',
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
      await rm(folder, { recursive: true, force: true });
    },
  };
  await new Promise<void>((resolve) => {
    server.listen(join(folder, socketName), resolve);
  });
  return proxy;
}

/** In order, also when one of the pieces has to wait. */
function pass(from: Socket, to: Socket, decide: (bytes: Buffer) => Passage): void {
  let last = Promise.resolve();
  const cut = (): void => {
    from.destroy();
    to.destroy();
  };
  from.on('data', (bytes: Buffer) => {
    const passage = decide(bytes);
    if (passage === 'cut') cut();
    else if (passage === 'pass') last = last.then(() => void (to.writable && to.write(bytes)));
    else last = last.then(() => passage).then(() => void (to.writable && to.write(bytes)));
  });
  from.on('error', cut);
  from.on('close', () => {
    void last.then(() => to.end());
  });
}
