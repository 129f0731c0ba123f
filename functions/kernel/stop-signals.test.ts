import { EventEmitter } from 'node:events';
import { describe, expect, test } from 'vitest';
import { firstStopSignal } from './stop-signals.ts';

/** A process that only receives signals, and its clock. */
class FakeProcess extends EventEmitter {
  readonly exits: number[] = [];
  now = 1_000_000;
  readonly stop = firstStopSignal(this, { now: () => this.now });

  exit(code: number): void {
    this.exits.push(code);
  }

  /** The signals, each at its milliseconds after the first. */
  receive(...signals: readonly (readonly [name: 'SIGINT' | 'SIGTERM', atMs: number])[]): readonly number[] {
    const begin = this.now;
    for (const [name, atMs] of signals) {
      this.now = begin + atMs;
      this.emit(name);
    }
    return this.exits;
  }
}

test.each(['SIGINT', 'SIGTERM'] as const)('the first %s begins the stop and ends nothing', async (name) => {
  const process = new FakeProcess();
  expect(process.receive([name, 0])).toEqual([]);
  await expect(process.stop).resolves.toBeUndefined();
});

describe('a second signal', () => {
  test('counts as the same Ctrl-C within half a second, any number of times', () => {
    expect(new FakeProcess().receive(['SIGINT', 0], ['SIGINT', 0], ['SIGINT', 3], ['SIGINT', 499])).toEqual(
      [],
    );
  });

  test('ends the process at once after that, counted from the first', () => {
    expect(new FakeProcess().receive(['SIGINT', 0], ['SIGINT', 499], ['SIGINT', 500])).toEqual([130]);
  });

  test('ends the process where the clock was set back', () => {
    expect(new FakeProcess().receive(['SIGINT', 0], ['SIGINT', -3_600_000])).toEqual([130]);
  });

  test('ends the process at once where it is SIGTERM, or comes after SIGTERM', () => {
    expect(new FakeProcess().receive(['SIGTERM', 0], ['SIGTERM', 1])).toEqual([143]);
    expect(new FakeProcess().receive(['SIGINT', 0], ['SIGTERM', 1])).toEqual([143]);
    expect(new FakeProcess().receive(['SIGTERM', 0], ['SIGINT', 1])).toEqual([130]);
  });
});
