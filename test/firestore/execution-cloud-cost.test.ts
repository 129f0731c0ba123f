import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CloudTasksQueue } from '../../functions/queue/cloud-tasks/cloud-tasks-queue.ts';
import type { QueueTask } from '../../functions/queue/cloud-tasks/message.ts';
import { executionCollections } from '../../functions/runs/records.ts';
import { executionCloud } from '../../scripts/cost/measured.ts';
import type { CloudInstance } from '../support/cloud-queue.ts';
import { dispatchBy, ExecutionClient, executionInstance } from '../support/execution.ts';
import { firestoreMissing } from '../support/firestore.ts';
import { ManualWorld } from '../support/manual-world.ts';
import { countBill } from './bill-counter.ts';
import { countingCalls } from './counted-calls.ts';
import { openTestStore } from './fixtures.ts';

/** The cost of runs on Cloud Tasks: documents, calls that create tasks, and the deliveries of those tasks. */

interface Entry {
  /** The operation, whose use of the cloud is in the table of `npm run cost`. A task created or delivered is one operation on the bill. */
  readonly operation: keyof typeof executionCloud;
  readonly call: (stage: Stage) => Promise<unknown>;
}

const INNER = 'inner';
const OUTER = 'outer';
const LEASE_MS = 60_000;

const entries: readonly Entry[] = [
  {
    operation: 'run of a handler of the hosted worker',
    call: async (stage) => {
      await stage.client.start({ handlerId: INNER, payload: { n: 1 } });
      await stage.deliver();
    },
  },
  {
    operation: 'the same with an idempotency key',
    call: async (stage) => {
      await stage.client.start({ handlerId: INNER, payload: { n: 1 }, idempotencyKey: 'key' });
      await stage.deliver();
    },
  },
  {
    operation: 'run of a worker that the queue calls',
    call: async (stage) => {
      await stage.started();
      await stage.complete();
      await stage.pass(LEASE_MS);
    },
  },
  {
    operation: 'more for a retry: failed, due, delivered again',
    call: async (stage) => {
      await stage.started({ retryPolicy: { maxAttempts: 2, initialDelaySeconds: 5 } });
      stage.mark();
      await stage.fail();
      await stage.pass(5_000);
    },
  },
  {
    operation: 'more for an event: waited for, raised, delivered again, taken',
    call: async (stage) => {
      const { id } = await stage.started();
      stage.mark();
      const wait = { kind: 'external_event' as const, name: 'go' };
      expect(await stage.client.wait({ ...stage.proof, ...wait })).toMatchObject({ suspended: true });
      await stage.client.raise(id, { name: 'go' });
      await stage.deliver();
      expect(await stage.client.wait({ ...stage.proof, ...wait })).toMatchObject({ suspended: false });
    },
  },
  {
    operation: 'more for a timer: waited for, due, delivered again, taken',
    call: async (stage) => {
      await stage.started();
      stage.mark();
      const fireAtUtc = new Date(stage.world.now + 5_000).toISOString();
      const wait = { kind: 'timer' as const, name: 'later', fireAtUtc };
      expect(await stage.client.wait({ ...stage.proof, ...wait })).toMatchObject({ suspended: true });
      await stage.pass(5_000);
      expect(await stage.client.wait({ ...stage.proof, ...wait })).toMatchObject({ suspended: false });
    },
  },
  {
    operation: 'heartbeat',
    call: async (stage) => {
      await stage.started();
      stage.mark();
      await stage.client.heartbeat(stage.proof);
    },
  },
  {
    operation: 'end of a lease that was renewed: one more message',
    call: async (stage) => {
      await stage.started();
      stage.world.advance(LEASE_MS - 1_000);
      await stage.client.heartbeat(stage.proof);
      stage.mark();
      await stage.pass(1_000);
    },
  },
  {
    operation: 'lease when no run is ready: one look of a waiting worker',
    call: async (stage) => {
      const body = { workerId: 'worker', handlerIds: [OUTER] };
      expect(await stage.client.lease(body)).toBeNull();
    },
  },
];

type Store = ReturnType<typeof openTestStore>['store'];
type Counter = ReturnType<typeof countBill>;
type Stage = ReturnType<typeof openStage>;

/** Tasks of the service, delivered when the test delivers them. */
class Tasks {
  readonly #kept = new Map<string, QueueTask>();
  operations = 0;

  readonly service = {
    create: async (_queue: string, task: QueueTask) => {
      this.operations += 1;
      this.#kept.set(task.name, task);
    },
    close: async () => undefined,
  };

  /** Removes the tasks that are due and returns their names. */
  take(now: number): string[] {
    const due = [...this.#kept.values()].filter(({ scheduleTime }) => momentOf(scheduleTime) <= now);
    for (const { name } of due) this.#kept.delete(name);
    this.operations += due.length;
    return due.map(({ httpRequest }) => JSON.parse(httpRequest.body.toString()).runId as string);
  }
}

function momentOf(time: QueueTask['scheduleTime']): number {
  return time === undefined ? 0 : time.seconds * 1_000 + time.nanos / 1e6;
}

let tasks: Tasks;
let instances: CloudInstance[];

function openStage(store: Store, counter: Counter) {
  tasks = new Tasks();
  instances = [];
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
    options: { counterShards: 8 },
  });
  let requests = 0;
  const request = () => {
    requests += 1;
  };
  const client = countingCalls(new ExecutionClient(instance), request);
  let lease: { leaseKey: string; leaseToken: string; workerId: string } | undefined;
  const stage = {
    world,
    client,
    get proof() {
      if (lease === undefined) throw new Error('nothing is leased');
      return lease;
    },
    /** Delivers every due message: to the hosted worker, or to an external one, which leases the named run. */
    async deliver() {
      for (const runId of tasks.take(world.now)) {
        if ((await handlerOf(runId)) === INNER) {
          request();
          await instances[0]?.deliver(runId);
        } else {
          const body = { workerId: 'worker', handlerIds: [OUTER], runId, ttlSeconds: LEASE_MS / 1_000 };
          const leased = await client.lease(body);
          if (leased !== null) lease = leased;
        }
      }
    },
    async started(more: object = {}) {
      const run = await client.start({ handlerId: OUTER, payload: { n: 1 }, ...more });
      outer.add(run.id);
      await stage.deliver();
      return run;
    },
    complete: () => client.complete({ ...proofOf(), result: { status: 'succeeded', result: { n: 1 } } }),
    fail: () => client.complete({ ...proofOf(), result: { status: 'failed', failureClass: 'transient' } }),
    async pass(ms: number) {
      world.advance(ms);
      await stage.deliver();
    },
    /** Restarts the counts, so that the preparation is left out. */
    mark() {
      counter.take();
      tasks.operations = 0;
      requests = 0;
    },
    requests: () => requests,
  };
  const outer = new Set<string>();
  const handlerOf = async (runId: string) => (outer.has(runId) ? OUTER : INNER);
  const proofOf = () => {
    const { leaseKey, leaseToken, workerId } = stage.proof;
    return { leaseKey, leaseToken, workerId };
  };
  return stage;
}

/** As of the page; a million operations of Cloud Tasks cost 0.40. */
const dollarsPerMillion = { reads: 0.6, writes: 1.8, deletes: 0.2, tasks: 0.4 };

function row({ operation }: Entry): string {
  const { calls, reads, writes, deletes, tasks: operations } = executionCloud[operation];
  const each = dollarsPerMillion;
  const dollars =
    reads * each.reads + writes * each.writes + deletes * each.deletes + operations * each.tasks;
  return `| ${operation} | ${calls} | ${reads} | ${writes} | ${deletes} | ${operations} | ${dollars.toFixed(2)} |`;
}

test('each operation of the calculator is counted', () => {
  expect(entries.map(({ operation }) => operation)).toEqual(Object.keys(executionCloud));
});

test('the page of figures has the same numbers', async () => {
  const page = await readFile('docs/performance.md', 'utf8');
  for (const entry of entries) expect(page).toContain(row(entry));
});

describe.skipIf(firestoreMissing !== undefined)(
  `what runs cost on Firestore and Cloud Tasks ${firestoreMissing ?? ''}`,
  () => {
    const { store, client } = openTestStore({ collections: executionCollections });
    const counter = countBill(client);
    beforeAll(() => {
      dispatchBy({
        async queueOf(instance) {
          instances.push(instance);
          const route = {
            queue: 'q',
            url: 'https://worker.example',
            serviceAccountEmail: null,
            audience: null,
          };
          const { clock } = instance.world;
          return new CloudTasksQueue({
            tasks: () => Promise.resolve(tasks.service),
            routeOf: () => route,
            clock,
            hint: instance.hint,
          });
        },
        arrived: () => Promise.resolve(),
        handled: () => Promise.resolve(),
        stop: () => Promise.resolve(),
      });
    });
    afterAll(() => store.close());

    test.each(entries.map((entry) => [entry.operation, entry] as const))('%s', async (_, entry) => {
      const stage = openStage(store, counter);
      // The first calls of an instance find out where the records are.
      await stage.started();
      await stage.complete();
      await stage.pass(LEASE_MS);
      stage.mark();
      await entry.call(stage);
      const used = { ...counter.take(), tasks: tasks.operations, requests: stage.requests() };
      expect(used).toEqual(executionCloud[entry.operation]);
    });
  },
);
