import { describe, expect, test } from 'vitest';
import type { JsonValue } from '../src/index.ts';
import { defineHandler, type Steps } from '../src/worker/index.ts';
import { type ExportedJournal, replay } from '../src/worker/steps/replay.ts';
import { RunStage, type StageOptions, startsAt } from './steps-stage.ts';

/** The replay of a journal by changed code. */

interface Charge {
  readonly id: string;
}

const handlerOf = (run: (steps: Steps, input: never) => unknown) => defineHandler({ id: 'pay', run });

/** No step may work in a replay. */
const works = (): never => {
  throw new Error('a step works');
};

const old = async (steps: Steps) => {
  const charge = await steps.step('charge', () => ({ id: 'ch_1' }));
  await steps.step('mail', () => charge.id);
  await steps.sleep('rest', '1m');
  await steps.commit('book', 'acme', { mutations: [] });
  const approval = await steps.waitForEvent('approval');
  return [charge.id, approval];
};

/** The journal of a run that is parked on a wait, at the first moment when it can go no further. */
async function parked(run: (steps: Steps) => unknown, options: StageOptions = {}): Promise<ExportedJournal> {
  const stage = new RunStage(options);
  await stage.drive({ id: 'pay', run }).catch(() => undefined);
  const values = [...stage.checkpoints].filter(([key]) => key.startsWith('svc.step.'));
  return {
    runId: '7',
    handlerId: 'pay',
    handlerVersion: '1',
    payload: null,
    segments: stage.segments,
    values: Object.fromEntries(values.map(([key, text]) => [key, JSON.parse(text) as JsonValue])),
  };
}

const nothing = { again: [], unused: [], unreached: [], changed: [], valueless: [], end: null };
const approvalNext = [{ key: 'approval', kind: 'event' }];

describe('a replay of a run that waits for an event', () => {
  const replayed = async (run: (steps: Steps) => unknown, results: Record<string, JsonValue> = {}) =>
    replay(handlerOf(run), await parked(old), { results });

  test('comes to the wait where the code is the same', async () => {
    expect(await replayed(old)).toEqual({ ...nothing, next: approvalNext });
  });

  test('continues with a payload', async () => {
    const { end, next } = await replayed(old, { approval: 'yes' });
    expect({ end, next }).toEqual({ end: { result: ['ch_1', 'yes'] }, next: approvalNext });
  });

  test('stops at an inserted step, and goes on with its result', async () => {
    const changed = async (steps: Steps) => {
      await steps.step('risk', works);
      return old(steps);
    };
    const again = [{ key: 'risk', kind: 'step' }];
    expect(await replayed(changed)).toEqual({
      ...nothing,
      next: [],
      again,
      unreached: [
        { key: 'charge', kind: 'step' },
        { key: 'mail', kind: 'step' },
        { key: 'rest', kind: 'sleep' },
      ],
    });
    expect(await replayed(changed, { risk: 1 })).toEqual({ ...nothing, next: approvalNext, again });
  });

  test('stops at an inserted wait', async () => {
    const changed = async (steps: Steps) => {
      await steps.sleep('first', '1h');
      return old(steps);
    };
    const { again, next, unreached } = await replayed(changed);
    expect([again, next, unreached.length]).toEqual([[{ key: 'first', kind: 'sleep' }], [], 3]);
  });

  test('names a removed step', async () => {
    const changed = async (steps: Steps) => {
      const { id } = await steps.step('charge', works);
      await steps.sleep('rest', '1m');
      return [id, await steps.waitForEvent('approval')];
    };
    expect(await replayed(changed)).toEqual({
      ...nothing,
      next: approvalNext,
      unused: [{ key: 'mail', kind: 'step' }],
    });
  });

  const renamed = (name: Parameters<Steps['step']>[0]) => async (steps: Steps) => {
    const { id } = (await steps.step(name, works)) as Charge;
    await steps.step('mail', works);
    await steps.sleep('rest', '1m');
    return [id, await steps.waitForEvent('approval')];
  };

  test('names a renamed step, and finds it by its earlier name', async () => {
    const again = [{ key: 'take', kind: 'step' }];
    expect(await replayed(renamed('take'))).toMatchObject({ again, next: [], unused: [] });
    expect(await replayed(renamed('take'), { take: { id: 'ch_2' } })).toEqual({
      ...nothing,
      again,
      next: approvalNext,
      unused: [{ key: 'charge', kind: 'step' }],
    });
    expect(await replayed(renamed({ name: 'take', was: ['charge'] }))).toEqual({
      ...nothing,
      next: approvalNext,
    });
  });

  test('finds results in any order', async () => {
    const changed = async (steps: Steps) => {
      await steps.sleep('rest', '1m');
      await steps.all([() => steps.step('mail', works), () => steps.step('charge', works)]);
      await steps.waitForEvent('approval');
    };
    expect(await replayed(changed)).toEqual({ ...nothing, next: approvalNext });
  });

  test('names each operation of another kind', async () => {
    const changed = (steps: Steps) =>
      steps.all([() => steps.sleep('charge', 1), () => steps.step('rest', works), () => old(steps)]);
    const { changed: found, end } = await replayed(changed);
    expect(end).toBeNull();
    expect(found).toEqual([
      { key: 'charge', was: 'step', is: 'sleep' },
      { key: 'rest', was: 'sleep', is: 'step' },
    ]);
  });

  test('follows a marker of a change', async () => {
    const changed = async (steps: Steps) => {
      if (await steps.since('risk')) await steps.step('risk', works);
      return old(steps);
    };
    expect(await replayed(changed)).toEqual({ ...nothing, next: approvalNext });
  });

  test('follows the failure of a handler', async () => {
    const changed = async (steps: Steps) => {
      await old(steps);
      throw new Error('no');
    };
    expect((await replayed(changed, { approval: null })).end).toMatchObject({ error: new Error('no') });
    const calling = (steps: Steps) => steps.context.checkpoint('a', {});
    expect((await replayed(calling)).end).toMatchObject({ error: expect.any(TypeError) });
  });
});

describe('a replay of a journal', () => {
  test('has the values of their own checkpoints, and names those that are missing', async () => {
    const run = async (steps: Steps) => {
      const text = (await steps.step('big', () => 'x'.repeat(20_000))) as string | null;
      await steps.sleep('rest', '1m');
      await steps.waitForEvent('end');
      return text?.length ?? 0;
    };
    const journal = await parked(run);
    const handler = handlerOf(run);
    const results = { end: 1 };
    expect((await replay(handler, journal, { results })).end).toEqual({ result: 20_000 });
    const { values: _, ...without } = journal;
    expect(await replay(handler, without, { results })).toMatchObject({
      valueless: [{ key: 'big', kind: 'step' }],
      end: { result: 0 },
    });
    const { end } = await replay(handler, without, { results: { ...results, big: 'short' } });
    expect(end).toEqual({ result: 5 });
  });

  test('comes to a step that is to be tried again, and to a child run', async () => {
    const head = { k: '@', t: 'mark', v: { format: 1, handler: 'pay', version: '2' } };
    const entries = [
      head,
      { k: 'pay', t: 'step', n: 1, at: startsAt },
      { k: 'ship', t: 'child', id: '8', at: startsAt },
    ];
    const run = (steps: Steps) =>
      steps.all([
        () => steps.step('pay', works),
        () => steps.invoke('ship', { id: 'ship' }, null),
        async () => [steps.version, await steps.now(), await steps.uuid()],
      ]);
    const journal = { runId: '7', handlerId: 'pay', handlerVersion: '2', payload: null, segments: [entries] };
    const next = [
      { key: 'pay', kind: 'step' },
      { key: 'ship', kind: 'child' },
    ];
    const results = { pay: 1, ship: { label: 'L' } };
    expect(await replay(handlerOf(run), journal)).toEqual({ ...nothing, next });
    expect((await replay(handlerOf(run), journal, { results })).end).toEqual({
      result: [1, { label: 'L' }, ['2', startsAt, '00000000-0000-4000-8000-000000000000']],
    });
  });

  test('refuses what is no journal, and what is no handler with steps', async () => {
    const journal = { runId: '7', handlerId: 'pay', handlerVersion: null, payload: null, segments: ['{}'] };
    await expect(replay(handlerOf(old), journal)).rejects.toMatchObject({ failureClass: 'changed_code' });
    await expect(replay({ id: 'pay', version: '1' }, { ...journal, segments: [] })).rejects.toThrow(
      'none of defineHandler',
    );
  });

  test('of a run without one comes to the first operation', async () => {
    const journal = { runId: '7', handlerId: 'pay', handlerVersion: null, payload: null, segments: [] };
    const next = [{ key: 'charge', kind: 'step' }];
    expect(await replay(handlerOf(old), journal)).toEqual({ ...nothing, next });
  });
});
