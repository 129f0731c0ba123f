import { expect, test } from 'vitest';
import { TurnRoom } from './turn-room.ts';

const PART_MS = 10;

/** A room whose time passes by work, and whose event loop turns when a test says so. */
class Stage {
  now = 0;
  later: (() => void)[] = [];
  /** The spaces in the order of their parts, and those of each turn. */
  readonly done: string[] = [];
  readonly room = new TurnRoom({ now: () => this.now }, (callback) => this.later.push(callback), PART_MS);

  /** Works for `ms` in steps of 1 ms, in turns. */
  async work(space: string, ms: number, signal?: AbortSignal): Promise<void> {
    const turns = this.room.of(space, signal);
    for (let step = 0; step < ms; step += 1) {
      this.now += 1;
      this.done.push(space);
      if (turns.due()) await turns.next();
    }
  }

  /** One turn of the event loop. Returns the steps that were done in it. */
  async turn(): Promise<readonly string[]> {
    const before = this.done.length;
    for (const callback of this.later.splice(0)) {
      callback();
      // As Node does: what was resolved goes on before the next callback.
      for (let at = 0; at < 10; at += 1) await Promise.resolve();
    }
    return this.done.slice(before);
  }
}

test('25 works of a space hold a turn together no longer than one of them', async () => {
  const stage = new Stage();
  const works = Array.from({ length: 25 }, () => stage.work('busy', 30));
  await Promise.resolve();
  // Each work begins with a step, and the first one does a whole part.
  expect(stage.done.length).toBeLessThanOrEqual(PART_MS + 25);
  while (stage.done.length < 25 * 30) {
    const steps = await stage.turn();
    expect(steps.length).toBeGreaterThan(0);
    expect(steps.length).toBeLessThanOrEqual(PART_MS);
  }
  for (let at = 0; at < 25; at += 1) await stage.turn();
  await Promise.all(works);
});

test('spaces take turns, however much work one of them has, and a new one is next', async () => {
  const stage = new Stage();
  const busy = Array.from({ length: 20 }, () => stage.work('busy', 20));
  await stage.turn();
  const other = stage.work('other', 30);
  const spaces: (string | undefined)[] = [];
  for (let turn = 0; turn < 5; turn += 1) spaces.push((await stage.turn())[0]);
  expect(spaces).toEqual(['other', 'busy', 'other', 'busy', 'other']);
  while (stage.later.length > 0) await stage.turn();
  await Promise.all([...busy, other]);
});

test('work that begins in a turn that is used up waits for the next one', async () => {
  const stage = new Stage();
  const long = stage.work('a', 25);
  const late = stage.room.of('b');
  expect(late.due()).toBe(true);
  await stage.turn();
  await stage.turn();
  await stage.turn();
  await long;
  await stage.turn();
  expect(late.due()).toBe(false);
});

test('a pause waits where the turn is used up, and only there', async () => {
  const stage = new Stage();
  await stage.room.pause('a');
  stage.now += PART_MS;
  let isOver = false;
  const paused = stage.room.pause('a').then(() => {
    isOver = true;
  });
  for (let at = 0; at < 10; at += 1) await Promise.resolve();
  expect(isOver).toBe(false);
  await stage.turn();
  await paused;
});

test('work whose call has ended takes no further turn', async () => {
  const stage = new Stage();
  const controller = new AbortController();
  const work = stage.work('a', 100, controller.signal);
  await stage.turn();
  controller.abort(new Error('the caller has left'));
  const refused = expect(work).rejects.toThrow('the caller has left');
  await stage.turn();
  await refused;
});

test('a clock that is set back gives no endless turn', () => {
  const stage = new Stage();
  const turns = stage.room.of('a');
  stage.now = 1_000;
  expect(turns.due()).toBe(false);
  stage.now = 0;
  expect(turns.due()).toBe(true);
});

test('a room without work requests no turns', async () => {
  const stage = new Stage();
  await Promise.all([stage.work('a', 15), stage.turn()]);
  while (stage.later.length > 0) await stage.turn();
  expect(stage.later).toEqual([]);
});
