import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { canonicalJson, sha256 } from '../../functions/kernel/canonical-json.ts';
import { isLinearizable, type ObjectModel, type Observed } from '../simulation/linearizability.ts';
import { CellClients } from './cell-clients.ts';
import { cellHistories, cellModel } from './cells.ts';
import type { Instance } from './instance.ts';
import { LeaseClients } from './lease-clients.ts';
import { eventHistories } from './leases.ts';
import { type Database, ProcessInstance } from './process-instance.ts';
import { WideClients } from './wide-clients.ts';
import { Workload, type WorkloadOptions } from './workload.ts';

export interface Verdict {
  /** The observations that no order of whole operations explains, or `null`. */
  readonly fault: string | null;
  /** The codes of refusals, and other things that a run must have met to have tested anything. */
  readonly reached: ReadonlySet<string>;
  /** One hash of all answers in their order. */
  readonly answered: string;
}

/** Clients at work on documents and fences; checks that the states of each cell explain their answers. */
export async function judgeCells(instances: readonly Instance[], options: WorkloadOptions): Promise<Verdict> {
  const work = new Workload(instances, options);
  await new CellClients(work).run();
  const faults = [...cellHistories(work.history)].map(([name, list]) => faultOf(name, cellModel, list));
  return verdictOf(work, faults);
}

/** Clients at work on the outbox; checks that the states of each event explain their answers. */
export async function judgeLeases(
  instances: readonly Instance[],
  options: WorkloadOptions,
): Promise<Verdict> {
  const work = new Workload(instances, options);
  await new LeaseClients(work).run();
  const faults = [...eventHistories(work.history)].map(([id, { model, list }]) => faultOf(id, model, list));
  return verdictOf(work, faults);
}

/** Clients at work on more documents than one read brings, and whether each answer was of one moment. */
export async function judgeWide(instances: readonly Instance[], options: WorkloadOptions): Promise<Verdict> {
  const work = new Workload(instances, options);
  const clients = new WideClients(work);
  await clients.run();
  return verdictOf(work, [clients.fault]);
}

function verdictOf({ history: { observations } }: Workload, faults: readonly (string | null)[]): Verdict {
  const reached = new Set<string>();
  for (const { operation, outcome } of observations) {
    reached.add(outcome.kind === 'refused' ? outcome.error.code : outcome.kind);
    if (outcome.kind === 'answer') reached.add(operation);
    const { body } = outcome as { body?: { replayed?: boolean } };
    if (body?.replayed === true) reached.add('replayed');
  }
  const answered = sha256(canonicalJson(observations.map(({ called, returned }) => [called, returned])));
  return { fault: faults.find((fault) => fault !== null) ?? null, reached, answered };
}

/** Where a history goes wrong: its shortest beginning that no order explains, of which the end is printed. */
function faultOf<State, Op>(
  name: string,
  model: ObjectModel<State, Op>,
  unordered: readonly Observed<Op>[],
): string | null {
  const list = [...unordered].sort((left, right) => left.called - right.called);
  if (isLinearizable(model, list)) return null;
  const moments = list.flatMap(({ called, returned }) => [called, returned ?? called]).sort((l, r) => l - r);
  let [good, bad] = [-1, moments.length - 1];
  while (bad - good > 1) {
    const middle = (good + bad) >> 1;
    if (isLinearizable(model, until(list, moments[middle] ?? 0))) good = middle;
    else bad = middle;
  }
  const last = until(list, moments[bad] ?? 0).slice(-12);
  const lines = last.map(
    ({ operation, called, returned }) => `${called}..${returned} ${JSON.stringify(operation)}`,
  );
  return [`${name} has no one history; it ends with`, ...lines].join('\n');
}

/** The history up to a moment: an operation that was under way has no answer. */
function until<Op>(list: readonly Observed<Op>[], moment: number): Observed<Op>[] {
  return list
    .filter(({ called }) => called <= moment)
    .map((each) => (each.returned !== null && each.returned > moment ? { ...each, returned: null } : each));
}

const CELLS_REACH = [
  'replayed',
  'precondition_failed',
  'document_missing',
  'idempotency_conflict',
  'fence_conflict',
  'fence_not_owned',
  'unknown',
];
const LEASES_REACH = [
  'renewCanonicalOutboxLease',
  'acknowledgeCanonicalOutbox',
  'releaseCanonicalOutbox',
  'replayCanonicalOutbox',
  'lease_stale',
  'lease_not_active',
  'outbox_event_not_dead_lettered',
  'unknown',
];

const WIDE_REACH = ['queryCanonicalDocuments', 'commitCanonicalTransaction', 'precondition_failed'];

/** With fewer operations than this, rare cases may not have happened. */
const OPERATIONS_FOR_ALL = 500;

export interface OpenedDatabase {
  readonly database: Database;
  /** Removes its remaining files. */
  drop(): Promise<void>;
}

export interface Sizes extends Omit<WorkloadOptions, 'seed'> {
  readonly skip?: string | undefined;
}

/** Two processes over one database, and clients that speak to both. Each test has a tenant of its own. */
export function describeHistories(name: string, open: () => Promise<OpenedDatabase>, sizes: Sizes): void {
  const { skip, ...options } = sizes;
  const wanted = (all: readonly string[]) => (options.operations < OPERATIONS_FOR_ALL ? [] : all);
  const left = skip === undefined ? '' : `, left out: ${skip}`;
  describe.skipIf(skip !== undefined)(`what two instances over ${name} answer is one history${left}`, () => {
    let opened: OpenedDatabase | undefined;
    let instances: ProcessInstance[] = [];
    beforeAll(async () => {
      opened = await open();
      const { database } = opened;
      instances = [new ProcessInstance(database), new ProcessInstance(database)];
      await Promise.all(instances.map(({ started }) => started));
    });
    afterAll(async () => {
      await Promise.all(instances.map((instance) => instance.close()));
      await opened?.drop();
    });

    test('of documents, fences and receipts', async () => {
      await reaches(wanted(CELLS_REACH), 1, (seed) => judgeCells(instances, { ...options, seed }));
    });

    test('of leases', async () => {
      await reaches(wanted(LEASES_REACH), 2, (seed) => judgeLeases(instances, { ...options, seed }));
    });

    test('of answers that take several reads', async () => {
      await reaches(wanted(WIDE_REACH), 3, (seed) => judgeWide(instances, { ...options, seed }));
    });
  });
}

/** The outcome of a workload hangs on when its calls meet, so a rare one may need more of them. */
const WORKLOADS_MAX = 5;

/** Judges workloads until all that is wanted has happened. */
async function reaches(
  wanted: readonly string[],
  seed: number,
  judge: (seed: number) => Promise<Verdict>,
): Promise<void> {
  const met = new Set<string>();
  for (let at = 0; at === 0 || (at < WORKLOADS_MAX && wanted.some((each) => !met.has(each))); at += 1) {
    const { fault, reached } = await judge(seed + at * 10);
    expect(fault).toBeNull();
    for (const each of reached) met.add(each);
  }
  expect([...met]).toEqual(expect.arrayContaining([...wanted]));
}
