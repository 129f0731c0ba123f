import { describe, expect, test } from 'vitest';
import type { JsonValue } from '../src/index.ts';
import type { Steps } from '../src/worker/index.ts';
import type { Entry } from '../src/worker/steps/entries.ts';
import { Journal } from '../src/worker/steps/journal.ts';
import { readSegments } from '../src/worker/steps/writer.ts';
import { numbers } from './steps-branches.ts';
import { RunStage } from './steps-stage.ts';
import { strangeNames } from './steps-subjects.ts';

const bytesOf = (text: string) => Buffer.byteLength(text);

describe('a segment', () => {
  /** Five steps and a wait; the fourth step fills the first segment up to `length` more characters. */
  async function filled(length: number) {
    const stage = new RunStage({});
    const worked: string[] = [];
    const { result } = await stage.drive({
      id: 'h',
      async run(steps: Steps) {
        const lengths: number[] = [];
        for (const [name, size] of Object.entries({ a: 15_900, b: 15_900, c: 15_900, d: length, e: 10 })) {
          const text = await steps.step(name, () => (worked.push(name), 'x'.repeat(size)));
          lengths.push(text.length);
        }
        await steps.sleep('rest', '1m');
        return lengths;
      },
    });
    expect(result).toEqual([15_900, 15_900, 15_900, length, 10]);
    expect(worked).toEqual(['a', 'b', 'c', 'd', 'e']);
    return stage.segments;
  }

  test.each([
    [59_999, 4],
    [60_000, 4],
    [60_001, 3],
  ])('that would have %i bytes with the next entry', async (bytes, steps) => {
    const [text = ''] = await filled(11_000);
    const toD =
      text.indexOf(',{"k":"e"') < 0 ? bytesOf(text) : bytesOf(text.slice(0, text.indexOf(',{"k":"e"'))) + 1;
    const [first = '', second = ''] = await filled(11_000 + bytes - toD);
    const keys = (JSON.parse(first) as Entry[]).map(({ k }) => k);
    expect(keys).toEqual(['@', 'a', 'b', 'c', 'd'].slice(0, 1 + steps));
    if (steps === 4) expect(bytesOf(first)).toBe(bytes);
    expect((JSON.parse(second) as Entry[])[0]?.k).toBe(steps === 4 ? 'e' : 'd');
  });

  test('is found again after any order of writes, and a crash between two of them', async () => {
    for (let seed = 1; seed <= 60; seed += 1) {
      const draw = numbers(seed);
      const kept = new Map<string, JsonValue>();
      const acknowledged = new Map<string, string>();
      let journal = Journal.of([], { handler: 'h', version: '1' });
      for (let round = 0; round < 30; round += 1) {
        const puts = Array.from({ length: 1 + draw(4) }, () => entryOf(draw, journal));
        for (const entry of puts) journal.put(entry);
        const writes = journal.changes();
        const crashAt = draw(4) === 0 ? draw(writes.length + 1) : writes.length;
        for (const write of writes.slice(0, crashAt)) {
          kept.set(write.key, JSON.parse(JSON.stringify(write.content)) as JsonValue);
          journal.written(write);
        }
        if (crashAt === writes.length)
          for (const entry of puts) acknowledged.set(entry.k, JSON.stringify(entry));
        else journal = await again(kept, journal);
        const read = await again(kept, journal);
        const found = new Map(read.all().map((entry) => [entry.k, entry]));
        for (const [key, text] of acknowledged) {
          const now = found.get(key);
          // A crashed write may have held a later entry of the key.
          const isSame = JSON.stringify(now) === text || (now !== undefined && now.v !== undefined);
          expect(isSame, `${key} of seed ${seed}`).toBe(true);
        }
      }
    }
  });

  async function again(kept: ReadonlyMap<string, JsonValue>, { head }: Journal) {
    const read = (key: string) => Promise.resolve(kept.get(key) ?? null);
    return Journal.of(await readSegments({ run: { attempt: 2 }, read } as never), head);
  }

  /** An entry of a new key, or the result of one that is open. */
  function entryOf(draw: (below: number) => number, journal: Journal): Entry {
    const at = 1_767_225_600_000;
    const open = journal.all().find(({ k, v }) => v === undefined && k !== '@');
    const text = 'x'.repeat(draw(3) === 0 ? draw(15_800) : draw(200));
    if (open !== undefined && draw(2) === 0) {
      const large = draw(10) === 0 ? 'x'.repeat(draw(80_000)) : text;
      return open.t === 'event' ? { ...open, v: { payload: large } } : { ...open, v: text };
    }
    const k = `k${journal.all().length}`;
    if (draw(3) === 0) return { k, t: draw(2) === 0 ? 'event' : 'step', n: 1, at };
    return { k, t: 'step', v: text, ms: 0, at };
  }
});

describe('a name', () => {
  test.each(strangeNames)('is kept for a step, a large value, an event and an undo: %s', async (name) => {
    const stage = new RunStage({ events: [{ at: 1_000, name, payload: name }] });
    const worked: string[] = [];
    const { result, error } = await stage.drive({
      id: 'h',
      async run(steps: Steps) {
        const value = await steps.step(name, ({ idempotencyKey }) => {
          worked.push(idempotencyKey);
          const text = JSON.stringify({ proto: name, text: 'x'.repeat(20_000) });
          return JSON.parse(text.replace('"proto"', '"__proto__"')) as { readonly text: string };
        });
        const payload = name.length > 120 ? name : await steps.waitForEvent([name, 'e'], { event: name });
        await steps.sleep('rest', '1m');
        return [Object.keys(value), payload];
      },
    });
    expect([result, error]).toEqual([[['__proto__', 'text'], name], undefined]);
    expect(worked).toEqual([`7/${name}`]);
    expect(Object.hasOwn(Object.prototype, 'text')).toBe(false);
  });

  test('is refused where it is too long, also as the second call', async () => {
    const failed = async (run: (steps: Steps) => unknown) =>
      (await new RunStage({}).drive({ id: 'h', run })).error;
    const name = 'x'.repeat(127);
    expect(await failed((steps) => steps.step(`${name}xx`, () => 1))).toMatchObject({
      name: 'StepNameError',
    });
    const twice = async (steps: Steps) => {
      await steps.step(name, () => 1);
      await steps.step(name, () => 1);
    };
    expect(await failed(twice)).toMatchObject({ name: 'StepNameError' });
  });
});

describe('a value', () => {
  const nested = (levels: number): JsonValue => {
    let value: JsonValue = 1;
    for (let level = 0; level < levels; level += 1) value = [value];
    return value;
  };

  test.each([
    ['of 16,000 bytes', 'x'.repeat(15_998), true],
    ['of 16,001 bytes', 'x'.repeat(15_999), true],
    ['of 1 MiB', 'x'.repeat(1_048_574), true],
    ['of 1 MiB and a byte', 'x'.repeat(1_048_575), false],
    ['of 1 MiB in characters of 3 bytes', '\u20ac'.repeat(349_524), true],
    ['of 200 levels', nested(200), true],
    ['of 201 levels', nested(201), false],
    ['of 100,000 levels', nested(100_000), false],
  ])('%s is kept, or refused before anything is written', async (_, value, isKept) => {
    const stage = new RunStage({});
    let worked = 0;
    const { result, error } = await stage.drive({
      id: 'h',
      async run(steps: Steps) {
        const kept = await steps.step('a', () => ((worked += 1), value) as string);
        await steps.sleep('rest', '1m');
        return JSON.stringify(kept) === JSON.stringify(value);
      },
    });
    expect([result, error === undefined]).toEqual([isKept ? true : undefined, isKept]);
    expect(worked).toBe(1);
    expect(stage.checkpoints.has('svc.step.a')).toBe(isKept && JSON.stringify(value).length > 16_000);
  });
});

describe('a journal of another format', () => {
  test.each([2, 0, '1', null])('ends the attempt and stays as it is: %j', async (format) => {
    const stage = new RunStage({});
    const worked: string[] = [];
    const definition = {
      id: 'h',
      async run(steps: Steps) {
        await steps.step('a', () => worked.push('a'));
        await steps.sleep('rest', '1m');
        return steps.step('b', () => worked.push('b'));
      },
    };
    expect(await stage.execute(definition)).toBeNull();
    const text = stage.checkpoints.get('svc.steps.0') ?? '';
    const other = text.replace('"format":1', `"format":${JSON.stringify(format)},"more":[1]`);
    stage.checkpoints.set('svc.steps.0', other);
    expect(await stage.execute(definition)).toMatchObject({ error: { failureClass: 'changed_code' } });
    expect([...stage.checkpoints]).toEqual([['svc.steps.0', other]]);
    // The kit that wrote it continues the run.
    stage.checkpoints.set('svc.steps.0', text);
    expect(await stage.drive(definition)).toEqual({ result: 2 });
    expect(worked).toEqual(['a', 'b']);
  });

  test('with members that this kit does not know keeps them', async () => {
    const stage = new RunStage({});
    const definition = {
      id: 'h',
      async run(steps: Steps) {
        await steps.step('a', () => 1);
        await steps.sleep('rest', '1m');
      },
    };
    await stage.execute(definition);
    const text = stage.checkpoints.get('svc.steps.0') ?? '';
    stage.checkpoints.set('svc.steps.0', text.replace('"k":"a"', '"z":[{"y":1}],"k":"a"'));
    await stage.drive(definition);
    expect(stage.segments[0]).toMatch(/\{"k":"a","t":"step","v":1,"ms":\d+,"at":\d+,"z":\[\{"y":1\}\]\}/);
  });
});
