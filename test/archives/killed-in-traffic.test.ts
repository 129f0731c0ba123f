import { describe, expect, test } from 'vitest';
import { restoreTenantArchive } from '../../functions/groups/canonical/copies/tenant-archives.ts';
import { exportTenant } from '../../functions/groups/canonical/copies/tenant-copies.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { type Instance, LocalInstance } from '../histories/instance.ts';
import { ProcessInstance } from '../histories/process-instance.ts';
import { Random } from '../simulation/random.ts';
import { START } from '../support/canonical.ts';
import { cases, patienceMs, seedShift, stride } from '../support/effort.ts';
import { Chronicle } from './chronicle.ts';
import { leftOut, type Provider, providers, sweepLater, type TestDatabase } from './databases.ts';
import { type Era, makeEra } from './eras.ts';
import { judge } from './judge.ts';
import { MortalRestorer, type Point, ProcessRestorer, type Restorer } from './restorer.ts';
import { sightingOf } from './sighting-of.ts';
import { Traffic } from './traffic.ts';

const TENANT = 'crowded';
const WRITERS = 8;
const READERS = 4;
/** The number of processes that are started before their turn, because a start takes time. */
const AHEAD = 2;

/** How one restore is ended: `null` lets it come to its end. */
interface Plan {
  readonly point: Point | null;
  readonly stays: boolean;
  /** The restorer is killed after so many acknowledged commits, counted from the point, or from the beginning without one. */
  readonly commits: number | null;
}

const to = (point: Point): Plan => ({ point, stays: true, commits: 0 });
const past = (point: Point | null, commits: number): Plan => ({ point, stays: false, commits });
const whole: Plan = { point: null, stays: false, commits: null };

/** At chosen places, at the flip with more or less delay, anywhere, and not at all. */
function plansFor(records: number): Plan[] {
  const random = new Random(seedShift + 1);
  const chosen = [0, 201, records - 1].map(to);
  const flips = Array.from({ length: cases(2) }, (_, n) => past('loaded', n % 4));
  const anywhere = Array.from({ length: cases(2) }, () => past(null, random.below(40)));
  return [...chosen, to('loaded'), whole, ...flips, ...anywhere, whole];
}

const eras = new Map<number, Promise<Era>>();
function eraNumbered(number: number, ballast: number): Promise<Era> {
  const name = number * 10_000 + ballast;
  const era = eras.get(name) ?? makeEra(TENANT, number, ballast);
  eras.set(name, era);
  return era;
}

interface Stand {
  readonly instances: readonly Instance[];
  readonly ballast: number;
  /** Whether a query may meet a commit half-way. */
  readonly tears: boolean;
  /** The restorers to try, in their order, each with its plan. Made early, so that a process is ready when its turn comes. */
  readonly restorers: readonly (() => { readonly restorer: Restorer; readonly plan: Plan })[];
}

function processesOn({ found }: TestDatabase): Stand {
  const ballast = 560;
  const restorers = plansFor(ballast).map((plan) => () => ({
    restorer: new ProcessRestorer(found, plan),
    plan,
  }));
  const instances = [new ProcessInstance(found), new ProcessInstance(found)];
  return { instances, ballast, tears: false, restorers };
}

/** The emulator is slow: instances are in this process, and die message by message. */
async function firestoreIn(database: TestDatabase): Promise<Stand> {
  const { found } = database;
  if (found.provider !== 'firestore') throw new Error('this is for Firestore');
  const every = stride(10, 5);
  const messages = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].filter((message) => message % every === 0);
  // The last of them is more than a restore sends.
  const restorers = [...messages, 99].map((message) => () => ({
    restorer: new MortalRestorer(found, message),
    plan: whole,
  }));
  const instances = [new LocalInstance(await database.open()), new LocalInstance(await database.open())];
  return { instances, ballast: 220, tears: true, restorers };
}

async function kill(restorer: Restorer, { point, commits }: Plan, traffic: Traffic): Promise<void> {
  if (commits === null) return;
  await restorer.begun;
  if (point !== null) await restorer.reached;
  if (commits > 0) await traffic.commits(commits);
  await restorer.kill();
}

interface Endings {
  readonly answered: number;
  readonly died: number;
}

/** One restore after the other is tried, while writers write and readers read. */
async function tryAll(stand: Stand, traffic: Traffic): Promise<Endings> {
  const endings = { answered: 0, died: 0 };
  const ready = stand.restorers.slice(0, AHEAD).map((make) => make());
  for (let number = 1; ; number += 1) {
    const next = ready.shift();
    if (next === undefined) return endings;
    const { restorer, plan } = next;
    const later = stand.restorers[number + AHEAD - 1]?.();
    if (later !== undefined) ready.push(later);
    const era = await eraNumbered(number, stand.ballast);
    const attempt = traffic.chronicle.attempt(number);
    const restoring = restorer.restore(TENANT, era).then((answered) => {
      if (answered) attempt.returned = traffic.chronicle.tick();
      return answered;
    });
    const [answered] = await Promise.all([restoring, kill(restorer, plan, traffic)]);
    if (plan.commits === null) await restorer.kill();
    endings[answered ? 'answered' : 'died'] += 1;
    // Check the state that it left before the next restore begins.
    await traffic.commits(WRITERS);
  }
}

async function open(provider: Provider, database: TestDatabase, store: RecordStore): Promise<Stand> {
  await store.ping();
  return provider.name === 'firestore' ? firestoreIn(database) : processesOn(database);
}

describe.each(providers.map((provider) => ({ provider, name: `${provider.name}${leftOut(provider)}` })))(
  'restores killed among writers and readers on $name',
  ({ provider }) => {
    test.skipIf(provider.missing !== undefined)(
      'show readers whole tenants only, and lose no commit made after a restore',
      async () => {
        const database = await provider.create();
        const store = await database.open();
        const stand = await open(provider, database, store);
        const chronicle = new Chronicle();
        const traffic = new Traffic(stand.instances, chronicle, {
          tenantId: TENANT,
          writers: WRITERS,
          readers: READERS,
          tears: stand.tears,
        });
        const first = await eraNumbered(0, stand.ballast);
        const begun = chronicle.attempt(0);
        await restoreWhole(store, first);
        begun.returned = chronicle.tick();
        await Promise.all(stand.instances.map(({ started }) => started));
        traffic.start();
        await traffic.commits(2 * WRITERS);
        const endings = await tryAll(stand, traffic);
        await traffic.stop();
        await sightingOf(chronicle, store, TENANT);
        expect(judge(chronicle)).toEqual([]);
        expect(endings.answered).toBeGreaterThan(1);
        expect(endings.died).toBeGreaterThan(2);
        expect(traffic.refused).toBeGreaterThan(0);
        await expectClean(store, first);
        await Promise.all([...stand.instances, store].map((each) => each.close()));
        await sweepLater(database);
        expect(await database.leftovers(TENANT)).toBe(0);
        await database.drop();
      },
      2 * patienceMs,
    );
  },
);

async function restoreWhole(store: RecordStore, { objects }: Era): Promise<void> {
  await restoreTenantArchive(store, TENANT, objects);
}

/** The last restore is not killed. */
async function expectClean(store: RecordStore, era: Era): Promise<void> {
  await restoreWhole(store, era);
  const { contentHash } = await exportTenant(store, TENANT, { now: START });
  expect(contentHash).toBe(era.manifest.snapshotContentHash);
}
