import { randomBytes } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import { accountForRuns } from '../../functions/runs/maintenance/account.ts';
import { reconcileAll } from '../../functions/runs/maintenance/reconcile.ts';
import { EXECUTION_SCOPE } from '../../functions/runs/records.ts';
import { executionInstance } from '../support/execution.ts';
import { type ServerProcess, startServer } from '../support/server-process.ts';
import { releasedVersion, startReleasedServer } from './released-server.ts';
import { settingsFor, TenantAt } from './two-releases-client.ts';
import { type DatabaseKind, databaseKinds, type SharedDatabase } from './two-releases-databases.ts';
import { begin, canonicalAcross, finish } from './two-releases-scenario.ts';

/** One server of the last release and one of this, over one database. Each starts and stops as a deployment would. */
class TwoReleases implements AsyncDisposable {
  readonly #database: SharedDatabase;
  readonly #tenant = `two-${randomBytes(6).toString('hex')}`;
  readonly #running = new Map<'last' | 'this', ServerProcess>();
  readonly last: TenantAt;
  readonly current: TenantAt;

  constructor(database: SharedDatabase) {
    this.#database = database;
    this.last = new TenantAt(() => this.#addressOf('last'), this.#tenant);
    this.current = new TenantAt(() => this.#addressOf('this'), this.#tenant);
  }

  async start(release: 'last' | 'this'): Promise<void> {
    const start = release === 'last' ? startReleasedServer : startServer;
    this.#running.set(release, await start(this.#database.env, settingsFor(this.#tenant)));
  }

  async stop(release: 'last' | 'this'): Promise<void> {
    const server = this.#running.get(release);
    this.#running.delete(release);
    expect(await server?.stop(), `${release} ends in order`).toBe(0);
  }

  #addressOf(release: 'last' | 'this'): string {
    return this.#running.get(release)?.address ?? expect.fail(`${release} does not run`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const server of this.#running.values()) await server.kill();
  }
}

/** After a repair no run is forgotten, and every counter is right. */
async function expectInOrder(database: SharedDatabase, shards: number): Promise<void> {
  const store = await database.open();
  const options = { activeRunsMax: 100, runShareMax: 25, counterShards: shards };
  const { runtime } = executionInstance(store, { scope: EXECUTION_SCOPE, options });
  const now = Date.now();
  await reconcileAll(runtime, now, { deadline: now + 60_000 });
  expect((await accountForRuns(runtime)).faults).toEqual([]);
  await store.close();
}

const created: SharedDatabase[] = [];
afterAll(async () => {
  for (const database of created) await database.drop();
});

async function forwardAndBack(kind: DatabaseKind): Promise<void> {
  const database = await kind.create();
  created.push(database);
  await using servers = new TwoReleases(database);
  const { last, current } = servers;
  await servers.start('last');
  const before = await begin(last, 'before the upgrade');

  await servers.start('this');
  const lists = { last: await last.list(), current: await current.list() };
  expect(lists.current).toEqual(lists.last);
  await canonicalAcross(last, current, 'forward');
  await canonicalAcross(current, last, 'backward');
  const forward = await begin(last, 'forward');
  await finish(forward, 'forward', { one: last, other: current });
  const backward = await begin(current, 'backward');
  await finish(backward, 'backward', { one: current, other: last });
  const kept = await begin(current, 'kept');
  // Each release shows every run, whichever release started, changed or ended it.
  const all = await current.list();
  expect(all).toHaveLength(16);
  expect(await last.list()).toEqual(all);
  expect(await current.list('&status=succeeded')).toEqual(await last.list('&status=succeeded'));
  expect((await current.run(kept.leased)).tags).toEqual({ name: 'kept' });

  await servers.stop('last');
  await finish(before, 'before the upgrade', { one: current, other: current });
  expect(await current.list()).toEqual(all);
  await servers.stop('this');

  await servers.start('last');
  await finish(kept, 'kept', { one: last, other: last });
  const rolledBack = await begin(last, 'after the roll back');
  await servers.stop('last');

  await servers.start('this');
  expect(await current.list()).toHaveLength(20);
  await finish(rolledBack, 'after the roll back', { one: current, other: current });
  for (const id of await current.list()) expect((await current.run(id)).completedAtUtc, id).not.toBeNull();
  await servers.stop('this');
  await expectInOrder(database, kind.shards);
}

// Each kind has a database and servers of its own, which mostly wait for their starts and for a timer.
describe.concurrent(`release ${releasedVersion} and this one over one store`, () => {
  for (const kind of databaseKinds) {
    const { name, missing } = kind;
    const skipped = missing === undefined ? '' : `, left out: ${missing}`;
    it.skipIf(missing !== undefined)(`go forward and back on ${name}${skipped}`, () => forwardAndBack(kind));
  }
});
