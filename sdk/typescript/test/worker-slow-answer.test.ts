import { describe, expect, test } from 'vitest';
import type { WorkerOptions } from '../src/worker/index.ts';
import { type Answer, json, ManualTime, Stage, silence } from './stage.ts';
import { aborted, moment, staged, stagedLease } from './worker-stage.ts';

/** A worker whose lease call gets its answer on the test's command. */
async function slow(options: Partial<WorkerOptions>) {
  const asked = moment();
  const answered = moment();
  const begun = moment();
  const reason = moment<unknown>();
  const late: Answer = (response, request) => {
    asked.come();
    void answered.came.then(() => json(stagedLease)(response, request));
  };
  const stage = await Stage.open(late, silence);
  const time = new ManualTime();
  const handler = async ({ signal }: { readonly signal: AbortSignal }) => {
    begun.come();
    reason.come(await aborted(signal));
  };
  const worker = staged(stage, time, { leaseSeconds: 60, handlers: { a: handler }, ...options });
  /** The answer takes this long. */
  const answer = async (ms: number) => {
    await asked.came;
    time.go(ms);
    answered.come();
  };
  const end = async () => {
    const stopped = worker.stop({ graceSeconds: 0 });
    time.go(0);
    await stopped;
    await stage[Symbol.asyncDispose]();
  };
  return { stage, time, worker, begun, reason, answer, [Symbol.asyncDispose]: end };
}

describe('a lease whose answer is slow', () => {
  test('of a delivered run lasts from the request on', async () => {
    await using scene = await slow({});
    const { time, worker, begun, reason, answer } = scene;
    const delivered = expect(worker.deliver({ runId: '1' })).rejects.toThrow('not completed');
    await answer(15_000);
    await begun.came;
    expect(time.pending).toContain(45_000);
    time.go(45_000);
    expect(await reason.came).toMatchObject({ kind: 'lease_lost' });
    await delivered;
  });

  test.each([
    ['from its answer, as the service may have waited that long', 5_000, 60_000],
    ['from when the service waited no longer', 25_000, 55_000],
  ])('of a lease request without a run lasts %s', async (_, answerMs, leftMs) => {
    await using scene = await slow({ waitSeconds: 20 });
    const { time, worker, begun, reason, answer } = scene;
    void worker.run();
    await answer(answerMs);
    await begun.came;
    expect(time.pending).toContain(leftMs);
    time.go(leftMs);
    expect(await reason.came).toMatchObject({ kind: 'lease_lost' });
  });

  test.each(['thread', 'event-loop'] as const)(
    'that has ended on arrival starts no handler (%s)',
    async (heartbeatFrom) => {
      let calls = 0;
      const handlers = { a: () => (calls += 1) };
      await using scene = await slow({ leaseSeconds: 10, heartbeatFrom, handlers });
      const { stage, worker, answer } = scene;
      const delivered = expect(worker.deliver({ runId: '1' })).rejects.toMatchObject({
        cause: { kind: 'lease_lost' },
      });
      await answer(10_000);
      await delivered;
      expect([calls, stage.seen.length]).toEqual([0, 1]);
    },
  );
});
