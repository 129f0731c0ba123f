import { describe, expect, test } from 'vitest';
import { StepFailed, type Steps } from '../src/worker/index.ts';
import type { RunDefinition } from '../src/worker/steps/run-steps.ts';
import { RunStage, startsAt } from './steps-stage.ts';

const definition = (run: (steps: Steps) => unknown, more: object = {}): RunDefinition => ({
  id: 'h',
  ...more,
  run,
});

describe('changed code', () => {
  const seen: string[] = [];
  const note = (steps: Steps, name: string, value: unknown = name) =>
    steps.step(name, () => {
      seen.push(name);
      return value;
    });
  const old = definition(async (steps) => {
    await note(steps, 'a');
    await note(steps, 'b');
    await steps.sleep('s', 10);
    return 'old';
  });
  const changed = async (run: (steps: Steps) => unknown) => {
    seen.length = 0;
    const stage = new RunStage({});
    const ended = await stage.drive(old, definition(run));
    return { ...ended, stage, seen: seen.slice(2) };
  };

  test('continues where a step is inserted', async () => {
    const { result, seen: after } = await changed(async (steps) => {
      await note(steps, 'new');
      await note(steps, 'a');
      await note(steps, 'b');
      await steps.sleep('s', 10);
      return 'new';
    });
    expect(result).toBe('new');
    expect(after).toEqual(['new']);
  });

  test('finds results in any order', async () => {
    const { result, seen: after } = await changed(async (steps) => {
      await steps.sleep('s', 10);
      return [await note(steps, 'b'), await note(steps, 'a')];
    });
    expect(result).toEqual(['b', 'a']);
    expect(after).toEqual([]);
  });

  test('reports a removed step', async () => {
    const { stage, result } = await changed(async (steps) => note(steps, 'b'));
    expect(result).toBe('b');
    expect(stage.records.join('')).toContain('"steps":["a"]');
  });

  test('finds a renamed step by its earlier name', async () => {
    const {
      result,
      seen: after,
      stage,
    } = await changed(async (steps) => {
      const value = await steps.step({ name: 'pay', was: ['a'] }, () => 'again');
      await steps.sleep('s', 10);
      return [value, await note(steps, 'b')];
    });
    expect(result).toEqual(['a', 'b']);
    expect(after).toEqual([]);
    expect(stage.records).toEqual([]);
  });

  test('ends the attempt where a kind is changed, even if the handler catches the error', async () => {
    const { error } = await changed(async (steps) => steps.sleep('a', 1).catch(() => undefined));
    expect(error).toMatchObject({
      failureClass: 'changed_code',
      message: '"a" was a step and is a sleep now',
    });
  });

  test('of a marker takes effect only for runs that are not beyond it', async () => {
    const run = async (steps: Steps) => {
      const isNew = await steps.since('risk');
      await note(steps, 'a');
      await note(steps, 'b');
      await steps.sleep('s', 10);
      return [isNew, await steps.since('end')];
    };
    expect((await changed(run)).result).toEqual([false, true]);
    expect((await new RunStage({}).drive(definition(run))).result).toEqual([true, true]);
  });
});

describe('a run with steps', () => {
  test('reads nothing in its first execution, and one segment in a later one', async () => {
    const stage = new RunStage({});
    await stage.drive(
      definition(async (steps) => {
        await steps.step('a', () => 1);
        await steps.sleep('s', 1);
      }),
    );
    expect(stage.calls).toEqual([
      'write svc.steps.0',
      'wait timer s',
      'read svc.steps.0',
      'wait timer s',
      'write svc.steps.0',
    ]);
  });

  test('writes the results of 20 parallel steps in at most 3 writes', async () => {
    const stage = new RunStage({});
    const names = Array.from({ length: 20 }, (_, n) => `s${n}`);
    const { result } = await stage.drive(
      definition((steps) => steps.map(names, {}, (name) => steps.step(name, () => name))),
    );
    expect(result).toEqual(names);
    expect(stage.count('write')).toBeLessThanOrEqual(3);
  });

  test.each([
    ['a date', new Date(startsAt), '/at'],
    ['a map', new Map(), '/at'],
    ['a number that is none', Number.NaN, '/at'],
    ['a big integer', 1n, '/at'],
    ['a missing item', [1, undefined], '/at/1'],
    ['a lone surrogate', '\ud800', '/at'],
  ])('refuses a result that holds %s, at its place', async (_, at, pointer) => {
    const stage = new RunStage({});
    const value: unknown = { at };
    const { error } = await stage.drive(definition((steps) => steps.step('a', () => value)));
    expect(error).toBeInstanceOf(StepFailed);
    expect(error?.message).toContain(`at ${pointer} `);
  });

  test('keeps a value of 1 MiB in a checkpoint of its own, and gives it back', async () => {
    const stage = new RunStage({});
    const text = 'x'.repeat(1_048_574);
    const { result } = await stage.drive(
      definition(async (steps) => {
        const value = await steps.step('big', () => text);
        await steps.sleep('s', 1);
        return value.length;
      }),
    );
    expect(result).toBe(text.length);
    expect(stage.segments[0]).toContain('"ref":"svc.step.big"');
  });

  test('has 1,000 steps', async () => {
    const stage = new RunStage({});
    let worked = 0;
    const { result } = await stage.drive(
      definition(async (steps) => {
        let sum = 0;
        for (let n = 0; n < 1_000; n += 1) sum += await steps.step(['s', n], () => ((worked += 1), n));
        await steps.sleep('s', 1);
        return sum;
      }),
    );
    expect(result).toBe(499_500);
    expect(worked).toBe(1_000);
  });

  test('refuses a step within a step', async () => {
    const { error } = await new RunStage({}).drive(
      definition((steps) => steps.step('a', () => steps.step('b', () => 1), { retry: { attempts: 1 } })),
    );
    expect(error).toMatchObject({
      cause: { message: expect.stringContaining('must not call another operation') },
    });
  });

  test('refuses a name that parallel branches repeat in no order', async () => {
    const { error } = await new RunStage({}).drive(
      definition((steps) =>
        steps.map([1, 2], {}, async (n) => {
          await steps.step(['first', n], () => n);
          return steps.step('second', () => n);
        }),
      ),
    );
    expect(error).toMatchObject({ failureClass: 'ambiguous_name' });
  });

  test('keeps the winner of a race', async () => {
    const stage = new RunStage({});
    const { result } = await stage.drive(
      definition(async (steps) => {
        const first = await steps.race([
          () => steps.step('slow', () => stage.clock.pause(500).then(() => 'slow')),
          () => steps.step('fast', () => stage.clock.pause(5).then(() => 'fast')),
        ]);
        await steps.sleep('s', 1);
        return first;
      }),
    );
    expect(result).toBe('fast');
  });

  test('undoes what it did when it fails for good, and reports the failure', async () => {
    const undone: string[] = [];
    const run = async (steps: Steps) => {
      await steps.step('a', () => 1, { undo: () => void undone.push('a') });
      throw new Error('gone');
    };
    expect((await new RunStage({ maxAttempts: 1 }).drive(definition(run))).error?.message).toBe('gone');
    expect(undone).toEqual(['a']);
    expect((await new RunStage({ maxAttempts: 2 }).drive(definition(run))).error?.message).toBe('gone');
    expect(undone).toEqual(['a']);
  });
});
