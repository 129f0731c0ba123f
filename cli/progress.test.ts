import { expect, test } from 'vitest';
import { ProgressLine } from './progress.ts';

function line(options: { isTTY: boolean; verbose?: boolean }) {
  const clock = { at: 1_000 };
  const written: string[] = [];
  const stream = { isTTY: options.isTTY, write: (text: string) => written.push(text) };
  const progress = new ProgressLine({
    stream,
    clock: { now: () => clock.at },
    verbose: options.verbose ?? false,
  });
  return { clock, written, progress };
}

const progressAt = (records: number, recordsTotal: number | null = 4_000_000) => ({
  step: 'restoring' as const,
  records,
  recordsTotal,
});

test('on a terminal one line is drawn anew, ten times a second at most, and taken away', () => {
  const { clock, written, progress } = line({ isTTY: true });
  progress.show(progressAt(1));
  progress.show(progressAt(2));
  clock.at += 99;
  progress.show(progressAt(3));
  clock.at += 1_901;
  progress.show(progressAt(1_000_000));
  progress.end();
  progress.end();
  expect(written).toEqual([
    '\r\x1b[Krestoring: 1 of 4,000,000 records (0%)',
    '\r\x1b[Krestoring: 1,000,000 of 4,000,000 records (25%), 500,000 a second',
    '\r\x1b[K',
  ]);
});

test('a new step is drawn at once, with a rate of its own', () => {
  const { clock, written, progress } = line({ isTTY: true });
  progress.show({ step: 'verifying', records: 10, recordsTotal: 10 });
  clock.at += 5_000;
  progress.show(progressAt(1, null));
  expect(written).toEqual(['\r\x1b[Kverifying: 10 of 10 records (100%)', '\r\x1b[Krestoring: 1 records']);
});

test('elsewhere it is quiet', () => {
  const { written, progress } = line({ isTTY: false });
  progress.show(progressAt(1));
  progress.end();
  expect(written).toEqual([]);
});

test('elsewhere, verbose, a line for each step', () => {
  const { clock, written, progress } = line({ isTTY: false, verbose: true });
  for (const records of [1, 2, 3]) {
    progress.show({ step: 'verifying', records, recordsTotal: 3 });
    clock.at += 1_000;
  }
  progress.show(progressAt(1));
  progress.end();
  expect(written).toEqual(['verifying …\n', 'restoring …\n']);
});
