import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { machine } from '../../functions/compose/machine.ts';
import { collections } from '../../functions/groups/canonical/records.ts';
import { createClient } from '../../functions/store/firestore/client.ts';
import { FirestoreStore } from '../../functions/store/firestore/store.ts';
import { openMysqlStore } from '../../functions/store/mysql/store.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { openPostgresStore } from '../../functions/store/postgres/store.ts';
import { wrapRpcs } from '../firestore/rpc-counter.ts';
import type { Database } from '../histories/process-instance.ts';
import { mysqlServer } from '../support/mysql.ts';
import { postgresSocketFolder, postgresUrl } from '../support/postgres.ts';

/** Stands for a process that can die: once it is dead, its database never hears of it again. */
export interface Mortal {
  readonly store: RecordStore;
  /**
   * The process dies before it sends this message, counted from 0 from now on, which equals dying after the message before.
   * The database executes all messages that it sent.
   */
  foretell(message: number): void;
  readonly dead: boolean;
  /** Settles when it is dead and the database has executed all its earlier statements. */
  readonly died: Promise<void>;
  bury(): Promise<void>;
}

export function openMortal(database: Exclude<Database, { provider: 'sqlite' }>): Promise<Mortal> {
  if (database.provider === 'postgresql') return openOnPostgres(database.options);
  if (database.provider === 'mysql') return openOnMysql(database.options);
  return openOnFirestore(database.options);
}

/** Counts messages up to the one at which to die. */
class Life {
  readonly died: Promise<void>;
  readonly isOver: () => void;
  #left = Infinity;
  #dead = false;

  constructor() {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.died = promise;
    this.isOver = resolve;
  }

  get dead(): boolean {
    return this.#dead;
  }

  foretell(message: number): void {
    this.#left = message;
  }

  /** Whether one more message goes out. */
  sends(): boolean {
    this.#dead ||= this.#left-- <= 0;
    return !this.#dead;
  }
}

/** A socket in between, which stands for the process: when it dies, the server reads what was sent, and then the end. */
async function openLine(path: string, serverPath: string, life: Life): Promise<() => Promise<void>> {
  const clients = new Set<Socket>();
  const servers = new Set<Socket>();
  const die = () => {
    for (const client of clients) client.destroy();
    for (const server of servers) server.end();
    if (servers.size === 0) life.isOver();
  };
  const listener = createServer((client) => {
    if (life.dead) {
      client.destroy();
      return;
    }
    const server = connect(serverPath);
    clients.add(client);
    servers.add(server);
    client.on('data', (data) => {
      if (life.dead) return;
      if (life.sends()) server.write(data);
      else die();
    });
    server.on('data', (data) => {
      if (!life.dead) client.write(data);
    });
    client.on('error', () => undefined);
    server.on('error', () => undefined);
    client.on('close', () => {
      clients.delete(client);
      server.end();
    });
    server.on('close', () => {
      servers.delete(server);
      client.destroy();
      if (life.dead && servers.size === 0) life.isOver();
    });
  });
  await new Promise<void>((resolve) => {
    listener.listen(path, resolve);
  });
  return async () => {
    for (const socket of [...clients, ...servers]) socket.destroy();
    await new Promise((resolve) => {
      listener.close(resolve);
    });
  };
}

async function openOnPostgres(options: { readonly schema: string }): Promise<Mortal> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-line-'));
  const name = '.s.PGSQL.5432';
  const life = new Life();
  const close = await openLine(join(folder, name), join(postgresSocketFolder(), name), life);
  const connectionString = postgresUrl(folder);
  const store = openPostgresStore({ ...options, connectionString, ...machine, collections });
  return mortal(store, life, async () => {
    await close();
    await rm(folder, { recursive: true, force: true });
  });
}

async function openOnMysql({ connectionString }: { readonly connectionString: string }): Promise<Mortal> {
  const serverPath = mysqlServer().socketPath;
  // In the server's own folder, which is removed with the server even when this test fails.
  const path = join(dirname(serverPath), `line-${randomBytes(4).toString('hex')}`);
  const life = new Life();
  const close = await openLine(path, serverPath, life);
  const url = new URL(connectionString);
  url.searchParams.set('socketPath', path);
  return mortal(openMysqlStore({ connectionString: url.href, ...machine }), life, close);
}

async function openOnFirestore(
  options: Extract<Database, { provider: 'firestore' }>['options'],
): Promise<Mortal> {
  const client = createClient(options);
  const life = new Life();
  const underWay = new Set<Promise<unknown>>();
  const never = new Promise<never>(() => undefined);
  wrapRpcs(client, (_, send) => {
    if (life.sends()) {
      const sent = send();
      underWay.add(sent);
      return sent.finally(() => underWay.delete(sent));
    }
    void Promise.allSettled(underWay).then(life.isOver);
    return never;
  });
  const store = new FirestoreStore({ ...options, ...machine, collections }, client);
  return mortal(store, life, () => client.terminate());
}

function mortal(store: RecordStore, life: Life, bury: () => Promise<void>): Mortal {
  return {
    store,
    foretell: (message) => life.foretell(message),
    get dead() {
      return life.dead;
    },
    died: life.died,
    bury,
  };
}
