import { describe, expect, test } from 'vitest';
import type { Steps } from '../src/worker/index.ts';
import { chooseWait, isTimeout, type QueuedWait } from '../src/worker/steps/waits.ts';
import { RunStage, startsAt } from './steps-stage.ts';

const drive = (stage: RunStage, run: (steps: Steps) => unknown) => stage.drive({ id: 'h', run });

describe('a later execution', () => {
  test('finds the results of all segments', async () => {
    const stage = new RunStage({});
    let worked = 0;
    const { result } = await drive(stage, async (steps) => {
      let length = 0;
      for (let n = 0; n < 300; n += 1) {
        const text = await steps.step(['s', n], () => {
          worked += 1;
          return 'x'.repeat(1_000);
        });
        length += text.length;
      }
      await steps.sleep('s', 1);
      return length;
    });
    expect(result).toBe(300_000);
    expect(worked).toBe(300);
    expect(stage.segments.map((text) => Buffer.byteLength(text) <= 60_000)).toEqual(Array(6).fill(true));
  });

  test('gives the value that a step returned, not what the handler made of it', async () => {
    const { result } = await drive(new RunStage({}), async (steps) => {
      const value = await steps.step('a', () => ({ n: 1 }));
      const before = value.n;
      value.n = 2;
      await steps.step('b', () => null);
      await steps.sleep('s', 1);
      return before;
    });
    expect(result).toBe(1);
  });

  test('counts calls of one name in their order, not that of their ends', async () => {
    const stage = new RunStage({});
    const { result } = await drive(stage, async (steps) => {
      const values = await Promise.all(
        [300, 200, 100].map((ms) => steps.step('mail', () => stage.clock.pause(ms).then(() => ms))),
      );
      await steps.sleep('s', 1);
      return values;
    });
    expect(result).toEqual([300, 200, 100]);
    expect(stage.segments[0]).toMatch(/"mail#3".*"mail#2".*"mail",/);
  });

  test('works 256 steps in parallel once each', async () => {
    const stage = new RunStage({});
    const items = Array.from({ length: 256 }, (_, n) => n);
    let worked = 0;
    const { result } = await drive(stage, async (steps) => {
      const values = await steps.map(items, { concurrency: 256 }, (n) =>
        steps.step(['s', n], async () => {
          await stage.clock.pause(n % 7);
          worked += 1;
          return n;
        }),
      );
      await steps.sleep('s', 1);
      return values;
    });
    expect(result).toEqual(items);
    expect(worked).toBe(256);
  });
});

describe('the choice of a wait', () => {
  const wait = (kind: QueuedWait['kind'], name: string, dueAt: number | null): QueuedWait => ({
    kind,
    name,
    dueAt,
    isPlanned: true,
  });

  test('is the first event, until the earliest moment', () => {
    const [a, b, c] = [wait('timer', 'a', 5), wait('event', 'b', 9), wait('event', 'c', null)];
    expect(chooseWait([a, b, c], 1)).toEqual({ waits: [b], until: 5 });
    expect(chooseWait([a, b, c], 8)).toEqual({ waits: [b, c], until: 5 });
    expect(chooseWait([c], 1)).toEqual({ waits: [c], until: null });
  });

  test('is the earliest timer where there is no event', () => {
    const [a, b] = [wait('timer', 'a', 5), wait('timer', 'b', 3)];
    expect(chooseWait([a, b], 1)).toEqual({ waits: [b], until: 3 });
  });

  test('takes the end of a wait for that of an event only where its moment has come', () => {
    expect(isTimeout(wait('event', 'a', startsAt), startsAt)).toBe(true);
    expect(isTimeout(wait('event', 'a', startsAt + 86_400_000), startsAt)).toBe(false);
    expect(isTimeout(wait('event', 'a', null), startsAt)).toBe(false);
    expect(isTimeout({ ...wait('event', 'a', null), isPlanned: false }, startsAt)).toBe(true);
  });
});
