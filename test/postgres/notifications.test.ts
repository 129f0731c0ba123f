import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { compose } from '../../functions/compose/compose.ts';
import { machine } from '../../functions/compose/machine.ts';
import { loadConfiguration } from '../../functions/config/load.ts';
import type { Caller } from '../../functions/identity/caller.ts';
import type { Notice, RecordStore } from '../../functions/store/port.ts';
import { driverUrl } from '../../functions/store/postgres/connection-string.ts';
import {
  channelOf,
  Notifications,
  notificationsConfig,
} from '../../functions/store/postgres/notifications.ts';
import { postgresMissing, postgresSchema, postgresSocketFolder, postgresUrl } from '../support/postgres.ts';
import { latch, poll } from './fixtures.ts';
import { type Passage, startProxy } from './proxy.ts';

/** Timers that fire when the test fires them. */
class HeldTimers {
  readonly #held = new Map<() => void, number>();

  after(delayMs: number, callback: () => void): () => void {
    this.#held.set(callback, delayMs);
    return () => this.#held.delete(callback);
  }

  get delays(): number[] {
    return [...this.#held.values()];
  }

  fire(): void {
    const callbacks = [...this.#held.keys()];
    this.#held.clear();
    for (const callback of callbacks) callback();
  }
}

/** One process that listens: what it received, and how often it connected. */
function processOf(schema: string, folder?: string, timeoutMs = 5_000) {
  const timers = new HeldTimers();
  const connection = notificationsConfig(driverUrl(postgresUrl(folder)), timeoutMs);
  const notices = new Notifications({ connection, schema, random: machine.random, timers });
  const received: Notice[] = [];
  let connections = 0;
  let changed = latch();
  const advance = () => {
    changed.open();
    changed = latch();
  };
  const until = async (isReached: () => boolean) => {
    while (!isReached()) await changed.opened;
  };
  notices.listen({
    received: (notice) => {
      received.push(notice);
      advance();
    },
    mayHaveMissed: () => {
      connections += 1;
      advance();
    },
  });
  return { timers, notices, received, until, connected: (count = 1) => until(() => connections >= count) };
}

const caller: Caller = { kind: 'development', principal: null };

/** A server of its own over the database. No timer of it fires, so that it never polls. */
async function serverOf(connectionString: string) {
  const settings = [
    'CanonicalStore:Provider=postgresql',
    `CanonicalStore:ConnectionString=${connectionString}`,
    'ExecutionRuntime:ExternalHandlers:0:HandlerId=external',
  ];
  const argv = settings.map((setting) => `--${setting}`);
  const loaded = loadConfiguration({ host: 'embedded', env: {}, argv, readFile: () => undefined });
  if (loaded.settings === undefined) throw new Error(loaded.faults.map(({ message }) => message).join());
  const [connected, searched] = [latch(), latch()];
  let isLeasing = false;
  const watchStore = (store: RecordStore): RecordStore =>
    new Proxy(store, {
      get(target, name) {
        if (name === 'query') {
          return async (...given: Parameters<RecordStore['query']>) => {
            const page = await target.query(...given);
            if (isLeasing) searched.open();
            return page;
          };
        }
        if (name === 'notices') {
          const { notices } = target;
          return {
            send: (notice: Notice) => notices?.send(notice),
            listen: (listener: Parameters<NonNullable<typeof notices>['listen']>[0]) =>
              notices?.listen({
                received: (notice) => listener.received(notice),
                mayHaveMissed: () => {
                  listener.mayHaveMissed();
                  connected.open();
                },
              }),
          };
        }
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  const timers = new HeldTimers();
  const lines: string[] = [];
  const writeLog = (line: string) => void lines.push(line);
  const service = compose(loaded.settings, { world: { ...machine, timers }, watchStore, writeLog });
  const call = await service.call(['execution']);
  await service.start();
  await connected.opened;
  return {
    start: () => call('startExecutionRun', { body: { handlerId: 'external', payload: 1 } }, caller),
    /** `searched`: the call found nothing, and waits. */
    lease() {
      isLeasing = true;
      const body = { workerId: 'worker', handlerIds: ['external'], waitSeconds: 20 };
      return { searched: searched.opened, answer: call('leaseExternalExecutionRun', { body }, caller) };
    },
    close: () => service.close(),
    timers,
    lines,
  };
}

describe.skipIf(postgresMissing !== undefined)(`notices of PostgreSQL ${postgresMissing ?? ''}`, () => {
  let session: Client;
  beforeAll(async () => {
    session = new Client({ connectionString: postgresUrl() });
    await session.connect();
  });
  afterAll(() => session.end());

  const listeners = async (schema: string) => {
    const { rows } = await session.query<{ pid: number }>(
      'SELECT pid FROM pg_stat_activity WHERE query LIKE $1',
      [`%LISTEN ${channelOf(schema)}`],
    );
    return rows.map(({ pid }) => pid);
  };

  test('a worker that waits at another server gets the run, although no timer fires there', async () => {
    const database = `notices_${randomBytes(6).toString('hex')}`;
    await session.query(`CREATE DATABASE ${database}`);
    const folder = encodeURIComponent(postgresSocketFolder());
    const url = `postgresql:///${database}?host=${folder}&user=svc`;
    const first = await serverOf(url);
    const second = await serverOf(url);
    const { searched, answer } = second.lease();
    await searched;
    const started = await first.start();
    expect((await answer).body).toMatchObject({ run: { id: (started.body as { id: string }).id } });
    await Promise.all([first.close(), second.close()]);
  });

  test('reach the other processes of the schema only', async () => {
    const schema = postgresSchema();
    const [sender, other, stranger] = [processOf(schema), processOf(schema), processOf(postgresSchema())];
    await Promise.all([sender.connected(), other.connected(), stranger.connected()]);
    sender.notices.send({ topic: 'a handler', count: 1 });
    await other.until(() => other.received.length === 1);
    expect(other.received).toEqual([{ topic: 'a handler', count: 1 }]);
    stranger.notices.send({ topic: 'strange', count: 1 });
    other.notices.send({ topic: 'back', count: 1 });
    await sender.until(() => sender.received.length === 1);
    expect(sender.received).toEqual([{ topic: 'back', count: 1 }]);
    expect([other.received.length, stranger.received.length]).toEqual([1, 0]);
    await Promise.all([sender, other, stranger].map(({ notices }) => notices.close()));
  });

  test('that follow closely are sent together, with their number', async () => {
    const schema = postgresSchema();
    const [sender, other] = [processOf(schema), processOf(schema)];
    await Promise.all([sender.connected(), other.connected()]);
    for (let n = 0; n < 100; n += 1) sender.notices.send({ topic: n % 2 === 0 ? 'even' : 'odd', count: 1 });
    expect(sender.timers.delays).toEqual([10]);
    sender.timers.fire();
    await other.until(() => other.received.length === 3);
    expect(other.received).toEqual([
      { topic: 'even', count: 1 },
      { topic: 'odd', count: 50 },
      { topic: 'even', count: 49 },
    ]);
    await Promise.all([sender.notices.close(), other.notices.close()]);
  });

  test('arrive again after the server has ended the connection, and the process learns that it may have missed some', async () => {
    const schema = postgresSchema();
    const sender = processOf(schema);
    await sender.connected();
    const [senderPid] = await listeners(schema);
    const other = processOf(schema);
    await other.connected();
    const pid = (await listeners(schema)).find((each) => each !== senderPid);
    await session.query('SELECT pg_terminate_backend($1)', [pid]);
    // One timer for the next connection; the timer of the ended connection is cancelled at its end.
    const retry = await poll(async () => other.timers.delays.find((delay) => delay <= 250));
    expect(retry).toBeGreaterThanOrEqual(125);
    other.timers.fire();
    await other.connected(2);
    sender.notices.send({ topic: 'again', count: 1 });
    await other.until(() => other.received.length === 1);
    expect(other.received).toEqual([{ topic: 'again', count: 1 }]);
    await Promise.all([sender.notices.close(), other.notices.close()]);
  });

  test('that have gathered are sent before the process ends', async () => {
    const schema = postgresSchema();
    const [sender, other] = [processOf(schema), processOf(schema)];
    await Promise.all([sender.connected(), other.connected()]);
    sender.notices.send({ topic: 'first', count: 1 });
    sender.notices.send({ topic: 'last', count: 1 });
    await sender.notices.close();
    await other.until(() => other.received.length === 2);
    expect(other.received.map(({ topic }) => topic)).toEqual(['first', 'last']);
    expect(sender.timers.delays).toEqual([]);
    await other.notices.close();
  });

  test('end with the process: it holds no connection and sets no timer', async () => {
    const schema = postgresSchema();
    const process = processOf(schema);
    await process.connected();
    await process.notices.close();
    await poll(async () => ((await listeners(schema)).length === 0 ? true : undefined));
    expect(process.timers.delays).toEqual([]);
    process.notices.send({ topic: 'late', count: 1 });
    expect(process.timers.delays).toEqual([]);
  });

  test('end with the server that stops: it logs no error, and leaves neither a connection nor a timer', async () => {
    const database = `notices_${randomBytes(6).toString('hex')}`;
    await session.query(`CREATE DATABASE ${database}`);
    const folder = encodeURIComponent(postgresSocketFolder());
    const server = await serverOf(`postgresql:///${database}?host=${folder}&user=svc`);
    await server.start();
    await server.close();
    const count = 'SELECT count(*)::int AS open FROM pg_stat_activity WHERE datname = $1';
    await poll(async () => {
      const { rows } = await session.query<{ open: number }>(count, [database]);
      return rows[0]?.open === 0 ? true : undefined;
    });
    expect(server.timers.delays).toEqual([]);
    const severities = server.lines.map((line) => (JSON.parse(line) as { severity: string }).severity);
    expect(severities.filter((severity) => severity !== 'INFO')).toEqual([]);
  });

  // The time that a connection may take is far longer than the test.
  test.each<[string, (answers: number) => boolean]>([
    ['that is not answered', () => true],
    ['whose LISTEN is not answered', (answers) => answers > 1],
  ])('end at a stop in the middle of the next connection %s', async (_, isSwallowed) => {
    const proxy = await startProxy();
    const schema = postgresSchema();
    const process = processOf(schema, proxy.folder, 600_000);
    await process.connected();
    for (const pid of await listeners(schema)) await session.query('SELECT pg_terminate_backend($1)', [pid]);
    await poll(async () => process.timers.delays.find((delay) => delay <= 250));
    const swallowed = latch();
    let answers = 0;
    proxy.onAnswer = (): Passage => {
      answers += 1;
      if (!isSwallowed(answers)) return 'pass';
      swallowed.open();
      return new Promise<void>(() => undefined);
    };
    process.timers.fire();
    await swallowed.opened;
    await process.notices.close();
    expect(process.timers.delays).toEqual([]);
    await proxy.close();
  });

  test('are tried again, later each time, while the database does not answer', async () => {
    const timers = new HeldTimers();
    const connection = notificationsConfig(driverUrl(postgresUrl('/no/such/folder')), 5_000);
    const random = { bytes: (size: number) => new Uint8Array(size).fill(255) };
    const notices = new Notifications({ connection, schema: postgresSchema(), random, timers });
    notices.listen({ received: () => undefined, mayHaveMissed: () => undefined });
    const delays: number[] = [];
    for (let attempt = 0; attempt < 9; attempt += 1) {
      delays.push(await poll(async () => timers.delays.at(-1)));
      timers.fire();
    }
    expect(delays).toEqual([250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
    await notices.close();
    expect(timers.delays).toEqual([]);
  });
});
