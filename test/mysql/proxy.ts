import { randomBytes } from 'node:crypto';
import { connect, createServer, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { type MysqlDatabase, mysqlServer, mysqlUrl } from '../support/mysql.ts';

/** A proxy between a store and the server, which can fail as a network does. */
export interface Proxy {
  readonly connectionString: string;
  /** Times that a client spoke after the server had: round trips, and what a client sends without waiting. */
  readonly turns: number;
  /** Commands of the client since the proxy was opened. */
  readonly commands: readonly string[];
  /** The size of the largest of them, in bytes. */
  readonly largest: number;
  /** The server carries out the next command that ends with this word, but its answer never comes: the line is cut. */
  loseAnswerTo(word: string): void;
  /** From now on no packet passes, without an error for either side. */
  swallow(): void;
  close(): Promise<void>;
}

export async function openProxy(database: MysqlDatabase): Promise<Proxy> {
  // In the server's own folder, which is removed with the server even when this test fails.
  const socketPath = join(dirname(mysqlServer().socketPath), `proxy-${randomBytes(4).toString('hex')}`);
  const sockets = new Set<Socket>();
  const commands: string[] = [];
  const state = { lost: '', swallows: false, largest: 0, turns: 0 };
  const listener = createServer((client) => {
    const server = connect(mysqlServer().socketPath);
    let cut = false;
    let clientSpoke = false;
    const end = () => {
      client.destroy();
      server.destroy();
    };
    for (const socket of [client, server]) {
      sockets.add(socket);
      socket.on('error', end).on('close', end);
    }
    const read = commandReader((command) => {
      commands.push(command);
      state.largest = Math.max(state.largest, Buffer.byteLength(command));
      if (state.lost === '' || !command.endsWith(state.lost)) return;
      state.lost = '';
      cut = true;
    });
    client.on('data', (data) => {
      if (!clientSpoke) state.turns += 1;
      clientSpoke = true;
      read(data);
      if (!state.swallows) server.write(data);
      // The server carries the command out to its end, and closes when it reads on; a line that is cut before its last answer stops it.
      if (cut) server.end();
    });
    server.on('data', (data) => {
      clientSpoke = false;
      if (!cut && !state.swallows) client.write(data);
    });
  });
  await new Promise<void>((resolve) => {
    listener.listen(socketPath, resolve);
  });
  return {
    connectionString: mysqlUrl({ ...mysqlServer(), socketPath }, database.name),
    commands,
    get turns() {
      return state.turns;
    },
    get largest() {
      return state.largest;
    },
    loseAnswerTo: (word) => {
      state.lost = word;
    },
    swallow: () => {
      state.swallows = true;
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => {
        listener.close(resolve);
      });
    },
  };
}

/** Assembles packets: three bytes of length, one of sequence, then a command with its kind in the first byte. */
function commandReader(take: (command: string) => void): (data: Buffer) => void {
  let held = Buffer.alloc(0);
  return (data) => {
    held = Buffer.concat([held, data]);
    while (held.length >= 4 && held.length >= 4 + held.readUIntLE(0, 3)) {
      const length = held.readUIntLE(0, 3);
      if (held[3] === 0) take(held.toString('utf8', 5, 4 + length));
      held = held.subarray(4 + length);
    }
  };
}
