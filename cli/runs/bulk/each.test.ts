import { describe, expect, test } from 'vitest';
import { exitCodes, ToolError } from '../../output.ts';
import { Refused } from '../../remote/refused.ts';
import { forEachId } from './each.ts';

const ids = Array.from({ length: 10 }, (_, at) => String(at));
const later = (retryAfter?: string) => new Refused('429 Too many', exitCodes.unavailable, 429, retryAfter);

/** A clock that a pause moves. */
class Stage {
  readonly aborts = new AbortController();
  readonly pauses: number[] = [];
  at = 1_000;

  readonly options = {
    signal: this.aborts.signal,
    now: () => this.at,
    pause: async (ms: number, signal: AbortSignal) => {
      // Several pauses may end at one moment.
      const until = this.at + ms;
      await Promise.resolve();
      signal.throwIfAborted();
      this.pauses.push(ms);
      this.at = Math.max(this.at, until);
    },
  };
}

describe('a call for each run', () => {
  test('is made once, four at a time', async () => {
    const begun: string[] = [];
    const ends = new Map<string, () => void>();
    const all = forEachId(
      ids,
      (id) =>
        new Promise<void>((done) => {
          begun.push(id);
          ends.set(id, done);
        }),
      new Stage().options,
    );
    expect(begun).toEqual(['0', '1', '2', '3']);
    for (const id of ids) {
      ends.get(id)?.();
      await Promise.resolve();
      await Promise.resolve();
      await Promise.resolve();
      await Promise.resolve();
    }
    await all;
    expect(begun).toEqual(ids);
  });

  test('waits as long as the service asks, and is made again', async () => {
    const stage = new Stage();
    const made: string[] = [];
    let refusals = 2;
    await forEachId(
      ids,
      async (id) => {
        await Promise.resolve();
        if (id === '2' && refusals > 0) {
          refusals -= 1;
          throw later(refusals === 1 ? '7' : undefined);
        }
        made.push(id);
      },
      stage.options,
    );
    expect(made.toSorted()).toEqual(ids);
    // 7 s as asked, and 1 s where nothing is said.
    expect(stage.at).toBe(9_000);
  });

  test('ends the command where the service has no room for long', async () => {
    const stage = new Stage();
    const refused = forEachId(['a'], () => Promise.reject(later('1')), stage.options);
    await expect(refused).rejects.toMatchObject({ status: 429 });
    expect(stage.at).toBe(1_000 + 29_000);
  });

  test('a failure begins no other call, and waits for those under way', async () => {
    const ended: string[] = [];
    let finish = () => {};
    const slow = new Promise<void>((done) => {
      finish = done;
    });
    const all = forEachId(
      ids,
      async (id) => {
        if (id === '0') throw new ToolError('broken', exitCodes.unavailable);
        await slow;
        ended.push(id);
      },
      new Stage().options,
    );
    finish();
    await expect(all).rejects.toThrow('broken');
    expect(ended).toEqual(['1', '2', '3']);
  });

  test('an interruption lets calls under way end, and ends a pause', async () => {
    const stage = new Stage();
    const ended: string[] = [];
    const all = forEachId(
      ids,
      async (id) => {
        if (id === '3') stage.aborts.abort(new Error('stopped'));
        await Promise.resolve();
        ended.push(id);
      },
      stage.options,
    );
    await expect(all).rejects.toThrow('stopped');
    expect(ended).toEqual(['0', '1', '2', '3']);
    const other = new Stage();
    const paused = forEachId(
      ['a'],
      () => {
        other.aborts.abort(new Error('stopped'));
        return Promise.reject(later('60'));
      },
      other.options,
    );
    await expect(paused).rejects.toThrow('stopped');
    expect(other.pauses).toEqual([]);
  });
});
