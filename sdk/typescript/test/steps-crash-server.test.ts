import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ExecutionExternalWorkerLease, ExecutionRun, JsonInput } from '../src/index.ts';
import { defineHandler, type Steps, type StepWork, Stop } from '../src/worker/index.ts';
import type { Crash } from './steps-stage.ts';
import { strangeNames } from './steps-subjects.ts';
import { WorkPlace } from './worker-stage.ts';

/** Handlers with steps at a real service. A run loses its lease at each of its calls, and another execution takes it. */

let place: WorkPlace;

beforeAll(async () => {
  place = await WorkPlace.open(10, ['ExecutionRuntime:MaxLeaseExpirations=100']);
});

afterAll(() => place[Symbol.asyncDispose]());

type Lease = Pick<ExecutionExternalWorkerLease, 'leaseKey' | 'leaseToken' | 'workerId'>;

/** The connection of a worker, which loses the lease of a run at one of its calls. */
class LosingWay {
  /** Each for the next run that is leased for the first time. */
  left: readonly (Crash | null)[] = [];
  /** By the ids of runs. */
  readonly plans = new Map<string, Crash | null>();
  readonly counts = new Map<string, number>();
  readonly #runs = new Map<string, string>();

  readonly fetch = async (url: string, init: RequestInit): Promise<Response> => {
    const { pathname } = new URL(url);
    const lease = leaseOf(init.body);
    const run = lease === null ? undefined : this.#runs.get(lease.leaseToken);
    if (lease === null || run === undefined || pathname.endsWith('/heartbeat')) return this.#sent(url, init);
    const count = (this.counts.get(run) ?? 0) + 1;
    this.counts.set(run, count);
    const plan = this.plans.get(run);
    if (plan?.call !== count) return this.#sent(url, init);
    if (plan.when === 'after') await fetch(url, init);
    const { leaseKey, leaseToken, workerId } = lease;
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ leaseKey, leaseToken, workerId });
    await fetch(url.replace(/\/workers\/.*/, '/workers/leases/release'), { method: 'POST', headers, body });
    // The service answers that the lease is lost.
    return fetch(url, init);
  };

  /** The answer, which may bring a lease: that to a lease call, and that to a completion. */
  async #sent(url: string, init: RequestInit): Promise<Response> {
    const answer = await fetch(url, init);
    if (answer.status !== 200 || !/\/leases(\/complete)?$/.test(url)) return answer;
    const its = (await answer.clone().json()) as Lease & {
      readonly run?: ExecutionRun;
      readonly next?: Lease;
    };
    const { leaseToken, run } = (its.next ?? its) as Lease & { readonly run?: ExecutionRun };
    if (run === undefined) return answer;
    this.#runs.set(leaseToken, run.id);
    if (this.plans.has(run.id)) return answer;
    const [plan = null, ...left] = this.left;
    this.plans.set(run.id, plan);
    this.left = left;
    return answer;
  }
}

function leaseOf(body: RequestInit['body']): Lease | null {
  if (body === null || body === undefined) return null;
  const text = typeof body === 'string' ? body : Buffer.from(body as Uint8Array).toString();
  const lease = JSON.parse(text) as Partial<Lease>;
  return typeof lease.leaseToken === 'string' ? (lease as Lease) : null;
}

interface Subject {
  readonly title: string;
  readonly events?: readonly { readonly name: string; readonly payload: JsonInput }[];
  readonly run: (steps: Steps, effect: (its: Pick<StepWork, 'idempotencyKey'>) => void) => unknown;
}

const subjects: readonly Subject[] = [
  {
    title: 'charge, approval and sleep',
    events: [{ name: 'approval', payload: { by: 'kim' } }],
    async run({ step, waitForEvent, sleep }, effect) {
      await step('charge', effect);
      const approval = await waitForEvent('approval', { timeout: '7d' });
      await sleep('cool-off', '5ms');
      await step('mail', effect);
      return approval;
    },
  },
  {
    title: 'two branches with events',
    events: ['a', 'b', 'a', 'b'].map((name, at) => ({ name, payload: `${name}${at}` })),
    run({ step, waitForEvent, all, sleep }, effect) {
      const branch = (name: string) => async () => {
        const seen: unknown[] = [];
        for (const round of [1, 2]) {
          await step([name, round], effect);
          seen.push(await waitForEvent([name, 'event', round], { event: name }));
        }
        await sleep([name, 'rest'], '5ms');
        return seen;
      };
      return all([branch('a'), branch('b')]);
    },
  },
  {
    title: 'large values, and an undo after a stop',
    async run({ step, sleep }, effect) {
      const text = await step('big', (its) => (effect(its), 'x'.repeat(70_000)), {
        undo: (_, its) => effect(its),
      });
      await sleep('rest', '5ms');
      await step('next', effect, { undo: (_, its) => effect(its) });
      throw new Stop(`no ${text.length}`);
    },
  },
];

describe('a lease that is lost at each call, before and after', () => {
  test.each(subjects.map((subject, at) => ({ ...subject, id: `h${at}` })))(
    'changes nothing: $title',
    async ({ id, events = [], run: works }) => {
      const effects = new Map<string, number>();
      const effect = ({ idempotencyKey: key }: Pick<StepWork, 'idempotencyKey'>) =>
        void effects.set(key, (effects.get(key) ?? 0) + 1);
      const handler = defineHandler({ id, run: (steps: Steps) => works(steps, effect) });
      const way = new LosingWay();
      const outcome = async ({ id: runId }: ExecutionRun) => {
        const { status, result, error } = await place.client.waitForExecutionRun(runId);
        const its = [...effects].filter(([key]) => key.startsWith(`${runId}/`));
        const keys = its.map(([key]) => key.slice(runId.length)).toSorted();
        const again = its.filter(([, count]) => count > 1);
        return { its: { status, result, error, keys }, again, plan: way.plans.get(runId) };
      };
      const outcomes = async (plans: readonly (Crash | null)[]) => {
        way.left = plans;
        const runs = await Promise.all(plans.map(() => place.start(id)));
        for (const { name, payload } of events)
          await Promise.all(runs.map((run) => place.client.raiseExecutionEvent(run.id, { name, payload })));
        return Promise.all(runs.map(outcome));
      };
      const client = place.clientWith({ fetch: way.fetch });
      const worker = place.worker([handler], {
        client,
        concurrency: 4,
        heartbeatFrom: 'event-loop',
        // The answer to a lost completion may bring the next run, which then waits for the end of this lease.
        leaseSeconds: 2,
      });
      const over = worker.run();
      try {
        const [whole] = await outcomes([null]);
        expect(whole?.again).toEqual([]);
        // How often a run is parked depends on the moments of its events.
        const calls = Math.max(...way.counts.values());
        expect(calls).toBeGreaterThan(6);
        const plans = Array.from({ length: calls }, (_, n) => n + 1).flatMap((call) => [
          { call, when: 'before' as const },
          { call, when: 'after' as const },
        ]);
        for (const { its, again, plan } of await outcomes(plans)) {
          const at = `${plan?.when} call ${plan?.call}`;
          expect(its, at).toEqual(whole?.its);
          expect(again.length, `${at}: ${again.join(' ')}`).toBeLessThanOrEqual(2);
        }
      } finally {
        await worker.stop({ graceSeconds: 0 });
        await over;
      }
    },
  );
});

test('a service keeps steps, large values, events and timers of any name', async () => {
  let worked = 0;
  const handler = defineHandler({
    id: 'h8',
    async run({ step, waitForEvent, sleep }) {
      const seen: unknown[] = [];
      for (const name of strangeNames) {
        await step(name, () => ((worked += 1), 'x'.repeat(20_000)));
        seen.push(name.length < 120 ? await waitForEvent([name, 'e'], { event: name }) : name);
        if (name.length < 120) await sleep([name, 's'], '1ms');
      }
      return seen;
    },
  });
  const worker = place.worker([handler]);
  const over = worker.run();
  const run = await place.start('h8');
  for (const name of strangeNames)
    if (name.length < 120) await place.client.raiseExecutionEvent(run.id, { name, payload: name });
  const { status, result, error } = await place.client.waitForExecutionRun(run.id);
  expect({ status, result, error }).toEqual({ status: 'succeeded', result: strangeNames, error: null });
  expect(worked).toBe(strangeNames.length);
  await worker.stop({ graceSeconds: 0 });
  await over;
});
