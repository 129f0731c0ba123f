import { afterEach, describe, expect, test } from 'vitest';
import type { JsonValue } from '../src/index.ts';
import { StepFailed, type Steps } from '../src/worker/index.ts';
import { numbers } from './steps-branches.ts';
import { RunStage, type StageOptions, startsAt } from './steps-stage.ts';

/** Journals that another worker of the run has forged: an attempt ends, in bounded work, and the process stays whole. */

const options: StageOptions = {
  events: [{ at: 1_000, name: 'approval', payload: { by: 'kim' } }],
  children: { ship: { outcome: { status: 'succeeded', result: 1 } } },
};

const definition = {
  id: 'h',
  async run(steps: Steps) {
    await steps.step('charge', () => ({ id: 'ch_1' }), { undo: () => null });
    await steps.waitForEvent('approval', { timeout: '7d' });
    await steps.sleep('rest', '1h');
    const failed = steps.step('mail', () => Promise.reject(new Error('502')), { retry: { delay: '1s' } });
    await failed.catch((error: unknown) => expect(error).toBeInstanceOf(StepFailed));
    await steps.all([() => steps.step('big', () => 'x'.repeat(20_000)), () => steps.now()]);
    await steps.race([() => steps.sleep('long', '1d'), () => steps.step('quick', () => 1)]);
    await steps.since('risk');
    return steps.invoke('ship', { id: 'ship' }, null);
  },
};

const head = { k: '@', t: 'mark', v: { format: 1, handler: 'h', version: '1' } };
const at = startsAt;
const charge = { k: 'charge', t: 'step', v: { id: 'ch_1' }, ms: 1, at };

/** How an attempt with the journal ends: a result, a failure, or a wait. */
async function ended(segments: readonly string[]) {
  const stage = new RunStage(options);
  stage.attempt = 1;
  for (const [number, text] of segments.entries()) stage.checkpoints.set(`svc.steps.${number}`, text);
  const its = await stage.execute(definition);
  expect(stage.calls.length).toBeLessThan(100);
  return { its, stage };
}

afterEach(() => expect(Object.keys(Object.prototype)).toEqual([]));

const deep = (levels: number, open: string, close: string) => open.repeat(levels) + close.repeat(levels);
const journal = (...entries: readonly unknown[]) => JSON.stringify([head, ...entries]);

describe('a forged journal ends the attempt with changed_code, and nothing is written', () => {
  test.each([
    ['no list', '{}'],
    ['a text', '"[]"'],
    ['an empty list', '[]'],
    ['entries that are none', '[1,null]'],
    ['a head that is none', JSON.stringify([charge])],
    ['a head with other members', JSON.stringify([{ ...head, v: { format: 1, handler: 7, version: [] } }])],
    ['a head without a value', JSON.stringify([{ ...head, v: null }])],
    ['an unknown kind', journal({ ...charge, t: 'constructor' })],
    ['a kind that is no text', journal({ ...charge, t: ['step'] })],
    ['a key that is no text', journal({ ...charge, k: { toString: 1 } })],
    ['a value and an error', journal({ ...charge, e: { name: 'E', message: 'm' } })],
    ['an error that is none', journal({ k: 'charge', t: 'step', e: { name: 1, message: null } })],
    ['a negative count', journal({ k: 'mail', t: 'step', n: -1_000_000_000, at })],
    ['a count that is no whole number', journal({ k: 'mail', t: 'step', n: 0.5, at })],
    ['a moment outside of time', journal({ k: 'rest', t: 'sleep', at: 1e300 })],
    ['a reference to another checkpoint', journal({ k: 'charge', t: 'step', ref: '../../x', at })],
    ['a reference that is no text', journal({ k: 'charge', t: 'step', ref: {}, at })],
    ['an event without a payload', journal(charge, { k: 'approval', t: 'event', v: 7, at })],
    ['an ending that is none', journal({ k: '@ending', t: 'mark', v: null, at })],
    ['another kind', journal({ ...charge, t: 'child', id: '1' })],
    ['a value that is missing', journal({ k: 'charge', t: 'step', ref: 'svc.step.charge', at })],
  ])('%s', async (_, text) => {
    const { its, stage } = await ended([text]);
    expect(its).toMatchObject({ error: { failureClass: 'changed_code' } });
    expect([...stage.checkpoints]).toEqual([['svc.steps.0', text]]);
  });
});

describe('a forged journal', () => {
  test('of 10,000 entries ends in bounded work', async () => {
    const entries = Array.from({ length: 10_000 }, (_, n) => ({ ...charge, k: `k${n}` }));
    const { its } = await ended([journal(...entries)]);
    expect(its).toMatchObject({ error: { message: expect.stringContaining('is full') } });
  });

  test('of segments without end is read in bounded work', async () => {
    const text = journal({ ...charge, k: 'x', v: 'x'.repeat(60_000) });
    const { its, stage } = await ended(Array.from({ length: 100 }, () => text));
    expect(stage.count('read')).toBe(20);
    expect(its?.error?.message).toContain('is full');
  });

  test.each([
    ['lists', deep(100_000, '[', ']')],
    ['objects', `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`],
  ])('of deep %s is an error of the attempt', async (_, value) => {
    const text = `[${JSON.stringify(head)},{"k":"charge","t":"step","v":${value},"ms":1,"at":${at}}]`;
    const { its } = await ended([text]);
    expect(its?.error).toBeInstanceOf(Error);
  });

  test('with members of the prototype changes no other object', async () => {
    const text = journal(charge).replace(
      '"k":"charge"',
      '"__proto__":{"x":1},"constructor":{"y":1},"k":"charge"',
    );
    const { its, stage } = await ended([text]);
    expect(its).toBeNull();
    expect(stage.checkpoints.get('svc.steps.0')).toContain('"__proto__":{"x":1}');
    expect(({} as { readonly x?: unknown }).x).toBeUndefined();
  });

  test('with any value at any place ends the attempt', async () => {
    const whole = [
      charge,
      { k: 'approval', t: 'event', v: { payload: 1 }, at },
      { k: 'rest', t: 'sleep', v: null, at },
      { k: 'mail', t: 'step', n: 1, at },
      { k: 'big', t: 'step', ref: 'svc.step.big', ms: 1, at },
      { k: '@now', t: 'mark', v: 1, at },
      { k: '@race', t: 'mark', v: 1, at },
      { k: 'quick', t: 'step', v: 1, ms: 1, at },
      { k: '@since:risk', t: 'mark', v: true, at },
      { k: 'ship', t: 'child', id: '11', at },
      { k: '@ending', t: 'mark', v: { name: 'Stop', message: 'no' }, at },
      { k: '@undo:charge', t: 'undo', n: 1, at },
    ];
    const values: readonly JsonValue[] = [
      null,
      -1,
      0,
      1e308,
      9e15,
      'x',
      '__proto__',
      true,
      [],
      {},
      [[1]],
      { payload: null },
      'step',
      'event',
      '@',
      '@ending',
    ];
    const names = ['k', 't', 'v', 'ref', 'e', 'n', 'id', 'ms', 'at', '__proto__'];
    for (let seed = 1; seed <= 600; seed += 1) {
      const draw = numbers(seed);
      const entries = whole
        .slice(0, 1 + draw(whole.length))
        .map((entry) => new Map<string, unknown>(Object.entries(entry)));
      for (let change = 0; change <= draw(3); change += 1) {
        const entry = entries[draw(entries.length)];
        const name = names[draw(names.length)] ?? 'k';
        if (draw(4) === 0) entry?.delete(name);
        else entry?.set(name, values[draw(values.length)] ?? null);
      }
      const texts = entries.map((entry) => {
        const members = [...entry].map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`);
        return `{${members.join(',')}}`;
      });
      const { its } = await ended([`[${[JSON.stringify(head), ...texts].join(',')}]`]);
      if (its?.error === undefined) continue;
      expect(its.error).toBeInstanceOf(Error);
      // Errors of the engine would say that a rule is missing.
      expect(`${its.error}`, texts.join('\n')).not.toMatch(/Cannot read|undefined|is not a function|Invalid/);
    }
  });
});
