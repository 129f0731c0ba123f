import { readFile } from 'node:fs/promises';
import { afterAll, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../functions/kernel/canonical-json.ts';
import { executionCollections } from '../../functions/runs/records.ts';
import { settleDue } from '../../functions/runs/settle.ts';
import { execution } from '../../scripts/cost/measured.ts';
import { ExecutionClient, executionInstance } from '../support/execution.ts';
import { firestoreMissing } from '../support/firestore.ts';
import { ManualWorld } from '../support/manual-world.ts';
import { countBill } from './bill-counter.ts';
import { countingCalls } from './counted-calls.ts';
import { openTestStore } from './fixtures.ts';

type Call = (stage: Stage) => Promise<unknown>;
interface Entry {
  /** The operation, whose use of the cloud is in the table of `npm run cost`. */
  readonly operation: keyof typeof execution;
  /** Prepares the records that the operation needs; not counted. */
  readonly before?: (stage: Stage) => Promise<Call>;
  readonly call?: Call;
}

/** Runs and their parts: the figures of `docs/performance.md`. */
const entries: readonly Entry[] = [
  {
    operation: 'run of a handler in process, its result waited for',
    call: (stage) => stage.runInProcess(),
  },
  {
    operation: 'run by a worker: start, lease, complete',
    call: async (stage) => stage.complete(await stage.leased()),
  },
  {
    operation: 'the same with an idempotency key',
    call: async (stage) => stage.complete(await stage.leased({ idempotencyKey: 'key' })),
  },
  {
    operation: 'run of ten steps by a worker, one after the other',
    call: (stage) => stage.runSteps(),
  },
  {
    operation: 'start that repeats an earlier one',
    async before(stage) {
      await stage.start({ idempotencyKey: 'used' });
      return (same) => same.start({ idempotencyKey: 'used' });
    },
  },
  {
    operation: 'more for a retry: failed, due, leased again',
    async before(stage) {
      const leased = await stage.leased({ retryPolicy: { maxAttempts: 2, initialDelaySeconds: 5 } });
      return async (same) => {
        await same.fail(leased);
        await same.pass(5_000);
        await same.lease();
      };
    },
  },
  {
    operation: 'more for an event: waited for, raised, leased again, taken',
    async before(stage) {
      const { id, proof } = await stage.leased();
      const wait = { kind: 'external_event' as const, name: 'go' };
      return async ({ client, ...same }) => {
        expect(await client.wait({ ...proof, ...wait })).toMatchObject({ suspended: true });
        await client.raise(id, { name: 'go' });
        const again = await same.lease();
        expect(await client.wait({ ...again, ...wait })).toMatchObject({ suspended: false });
      };
    },
  },
  {
    operation: 'more for a timer: waited for, due, leased again, taken',
    async before(stage) {
      const { proof } = await stage.leased();
      const fireAtUtc = new Date(stage.world.now + 5_000).toISOString();
      const wait = { kind: 'timer' as const, name: 'later', fireAtUtc };
      return async ({ client, ...same }) => {
        expect(await client.wait({ ...proof, ...wait })).toMatchObject({ suspended: true });
        await same.pass(5_000);
        const again = await same.lease();
        expect(await client.wait({ ...again, ...wait })).toMatchObject({ suspended: false });
      };
    },
  },
  {
    operation: 'heartbeat',
    before: onLease(({ client }, proof) => client.heartbeat(proof)),
  },
  {
    operation: 'report of progress',
    before: onLease(({ client }, proof) => client.report({ ...proof, update: { progress: 0.5 } })),
  },
  {
    operation: 'trace event',
    before: onLease(({ client }, proof) => client.record({ ...proof, type: 'log', message: 'done' })),
  },
  {
    operation: 'checkpoint',
    before: onLease(({ client }, proof) =>
      client.putCheckpoint({ ...proof, checkpoint: { key: 'place', content: { at: 1 } } }),
    ),
  },
  {
    operation: 'artifact, kept inline',
    before: onLease(({ client }, proof) =>
      client.putArtifact({ ...proof, artifact: { name: 'answer', text: 'yes' } }),
    ),
  },
  {
    operation: 'read of a run',
    async before(stage) {
      const { id } = await stage.start();
      return ({ client }) => client.get(id);
    },
  },
  {
    operation: 'lease when no run is ready, woken by the local queue',
    async before(stage) {
      await stage.complete(await stage.leased());
      return async (same) => expect(await same.look(1)).toBeNull();
    },
  },
  {
    operation: 'lease when no run is ready, with a search of the store',
    call: async (stage) => expect(await stage.look(0)).toBeNull(),
  },
  {
    operation: 'prune of a run that has nothing beside it',
    async before(stage) {
      await stage.prune();
      await stage.runInProcess();
      return (same) => same.prune();
    },
  },
  {
    operation: 'prune of a run with a key, a checkpoint and an artifact',
    async before(stage) {
      await stage.prune();
      const leased = await stage.leased({ idempotencyKey: 'pruned' });
      const { proof } = leased;
      await stage.client.putCheckpoint({ ...proof, checkpoint: { key: 'place', content: 1 } });
      await stage.client.putArtifact({ ...proof, artifact: { name: 'answer', text: 'yes' } });
      await stage.complete(leased);
      return (same) => same.prune();
    },
  },
  {
    operation: 'prune when there is nothing to remove',
    async before(stage) {
      await stage.prune();
      return (same) => same.prune();
    },
  },
  {
    operation: 'reconcile when nothing is lost',
    call: (stage) => stage.reconcile(),
  },
  {
    operation: 'reconcile that tells again of two runs',
    async before(stage) {
      await stage.start();
      await stage.start();
      stage.world.advance(60_000);
      return (same) => same.reconcile();
    },
  },
  {
    operation: 'settling when no run is due',
    call: (stage) => stage.pass(0),
  },
];

interface Proof {
  readonly leaseKey: string;
  readonly leaseToken: string;
  readonly workerId: string;
}

interface Leased {
  readonly id: string;
  readonly proof: Proof;
}

function onLease(call: (stage: Stage, proof: Proof) => Promise<unknown>): (stage: Stage) => Promise<Call> {
  return async (stage) => {
    const { proof } = await stage.leased();
    return (same) => call(same, proof);
  };
}

const INNER = 'inner';
const OUTER = 'outer';

type Store = ReturnType<typeof openTestStore>['store'];
type Stage = ReturnType<typeof openStage>;

/** A deployment of its own with one handler in process and one for workers, in a world with a fixed time. */
function openStage(store: Store) {
  const world = new ManualWorld();
  const instance = executionInstance(store, {
    world,
    external: [{ handlerId: OUTER }],
    plugins: [
      {
        pluginId: 'plugin',
        name: 'Plugin',
        version: '1',
        handlers: [{ handlerId: INNER, run: ({ payload }) => payload }],
      },
    ],
    // As composed for Firestore.
    options: { counterShards: 8 },
  });
  // As after a first look into the store.
  for (const handlerId of [INNER, OUTER]) instance.queue.learn(handlerId, [], true, instance.queue.mark);
  let requests = 0;
  const client = countingCalls(new ExecutionClient(instance), () => {
    requests += 1;
  });
  const start = (more: object = {}) => client.start({ handlerId: OUTER, payload: { n: 1 }, ...more });
  /** `waitSeconds` above 0 makes it a call that is notified of new runs; it does not wait for them here. */
  const look = (waitSeconds: number) =>
    client.lease({ workerId: 'worker', handlerIds: [OUTER], waitSeconds }, AbortSignal.abort());
  const lease = async () => {
    const { leaseKey, leaseToken, workerId } = present(await look(1));
    return { leaseKey, leaseToken, workerId };
  };
  return {
    world,
    client,
    takeRequests() {
      const taken = requests;
      requests = 0;
      return taken;
    },
    start,
    look,
    lease,
    async leased(more: object = {}): Promise<Leased> {
      const { id } = await start(more);
      return { id, proof: await lease() };
    },
    complete: ({ proof }: Leased) =>
      client.complete({ ...proof, result: { status: 'succeeded', result: { n: 1 } } }),
    fail: ({ proof }: Leased) =>
      client.complete({ ...proof, result: { status: 'failed', failureClass: 'transient' } }),
    async runInProcess() {
      const { id } = await client.start({ handlerId: INNER, payload: { n: 1 } });
      expect(await client.get(id, { waitSeconds: 20 })).toMatchObject({ status: 'succeeded' });
    },
    /** As the kits do it: each step is one checkpoint, whose event has its name; the journal grows. */
    async runSteps() {
      const leased = await this.leased();
      const journal: JsonObject[] = [];
      for (let n = 0; n < 10; n += 1) {
        journal.push({ k: `step-${n}`, t: 'step', v: { n, text: 'x'.repeat(200) }, ms: 1, at: world.now });
        const event = { type: 'step.completed', message: `step-${n}`, details: { attempt: 1 } };
        await client.putCheckpoint({
          ...leased.proof,
          checkpoint: { key: 'svc.steps.0', content: journal },
          event,
        });
      }
      await this.complete(leased);
    },
    prune: () => client.prune({ dryRun: false, retainTerminalRuns: 0 }),
    reconcile: () => client.reconcile(),
    async pass(ms: number) {
      world.advance(ms);
      await settleDue(instance.runtime, world.now);
    },
  };
}

function present<T>(value: T | null): T {
  if (value === null) throw new Error('there is no run to lease');
  return value;
}

/** List prices of a multi-region location for a million, as of the page. */
const dollarsPerMillion = { reads: 0.6, writes: 1.8, deletes: 0.2 };

function row({ operation }: Entry): string {
  const { calls, reads, writes, deletes } = execution[operation];
  const { reads: read, writes: write, deletes: remove } = dollarsPerMillion;
  const dollars = reads * read + writes * write + deletes * remove;
  return `| ${operation} | ${calls} | ${reads} | ${writes} | ${deletes} | ${dollars.toFixed(2)} |`;
}

test('each operation of the calculator is counted', () => {
  expect(entries.map(({ operation }) => operation).sort()).toEqual(Object.keys(execution).sort());
});

test('the page of figures has the same numbers', async () => {
  const page = await readFile('docs/performance.md', 'utf8');
  for (const entry of entries) expect(page).toContain(row(entry));
});

describe.skipIf(firestoreMissing !== undefined)(
  `what runs cost on Firestore ${firestoreMissing ?? ''}`,
  () => {
    const { store, client } = openTestStore({ collections: executionCollections });
    const counter = countBill(client);
    afterAll(() => store.close());

    test.each(entries.map((entry) => [entry.operation, entry] as const))('%s', async (_, entry) => {
      const stage = openStage(store);
      // The first calls of an instance find out where the records are.
      await stage.complete(await stage.leased());
      const call = (await entry.before?.(stage)) ?? entry.call;
      counter.take();
      stage.takeRequests();
      await call?.(stage);
      expect({ ...counter.take(), requests: stage.takeRequests(), tasks: 0 }).toEqual(
        execution[entry.operation],
      );
    });
  },
);
