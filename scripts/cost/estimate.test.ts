import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { estimate, type Prices } from './estimate.ts';
import { canonical, execution, executionCloud } from './measured.ts';
import { helpText, OptionFault, readOptions } from './options.ts';
import ownPrices from './prices.json' with { type: 'json' };
import { estimateText } from './text.ts';
import { commitUsage } from './workload.ts';

const nothing = ['--commits=0', '--reads=0', '--runs=0', '--storage-gib=0'];

function estimated(args: readonly string[], prices: Prices = ownPrices) {
  const input = readOptions(args, prices);
  return { input, ...estimate(input.load, input.machine, input.prices, input.region, input.isFree) };
}

const lineOf = ({ lines }: ReturnType<typeof estimated>, name: string) =>
  lines.find((line) => line.name === name);
const productOf = ({ products }: ReturnType<typeof estimated>, name: string) =>
  products.find((product) => product.name === name)?.dollars;

describe('the use of a commit', () => {
  const sum = (updates: number, creates: number, events: number, fences: number) =>
    commitUsage({ updates, creates, events, fences });

  test('is the sum of its parts: the formula gives each of the measured commits', () => {
    expect(sum(1, 0, 1, 0)).toEqual(canonical['commit: one upsert, one event']);
    expect(sum(0, 1, 1, 0)).toEqual(canonical['commit: one create (`mustNotExist`), one event']);
    expect(sum(1, 0, 1, 1)).toEqual(canonical['commit: one upsert, one event, one fence']);
    expect(sum(0, 100, 0, 0)).toEqual(canonical['commit: 100 creates']);
  });
});

const textOf = (path: string) => readFileSync(join(import.meta.dirname, '../..', path), 'utf8');

describe('the figures of other files', () => {
  test('an instance has the memory that infra/ gives to the functions of calls and runs', () => {
    const sizes = [...textOf('infra/groups.tf').matchAll(/^ +(\w+) += \{.* memory = "(\w+)"/gm)];
    const memory = Object.fromEntries(sizes.map(([, name, size]) => [name, size]));
    expect(memory).toMatchObject({ canonical: '1Gi', execution: '1Gi', worker: '1Gi' });
    expect(readOptions([], ownPrices).machine.memoryGiB).toBe(1);
  });
});

describe('the estimate', () => {
  test('prices the documents of each operation as measured', () => {
    const month = estimated([...nothing, '--commits=2_000_000', '--no-free-tier']);
    expect(lineOf(month, 'commits')).toMatchObject({ reads: 6e6, writes: 6e6, requests: 2e6 });
    // Commits, one lease for ten events and one acknowledgement for each.
    expect(productOf(month, 'Firestore writes')).toBeCloseTo(0.9 * (6 + 2 + 2));
    expect(productOf(month, 'Firestore reads')).toBeCloseTo(0.3 * (6 + 2.2 + 4));
  });

  test('takes the table for runs of both kinds of workers', () => {
    const hosted = executionCloud['the same with an idempotency key'];
    const { name: _, ...line } = lineOf(estimated([...nothing, '--runs=1']), 'runs with a key') ?? {
      name: '',
    };
    expect(line).toMatchObject({ reads: hosted.reads, writes: hosted.writes, tasks: hosted.tasks });
    const external = lineOf(estimated([...nothing, '--runs=1', '--worker=external']), 'runs with a key');
    const { reads, writes, tasks, requests } = executionCloud['run of a worker that the queue calls'];
    expect(external).toMatchObject({ reads: reads + 1, writes: writes + 1, tasks, requests });
  });

  test('counts steps, retries, timers and waits for each run', () => {
    const args = ['--runs=10', '--checkpoints=3', '--retries=0.1', '--timers=2', '--waits=1'];
    const month = estimated([...nothing, ...args, '--worker=external']);
    expect(lineOf(month, 'checkpoints')).toMatchObject({
      count: 30,
      writes: 30 * execution.checkpoint.writes,
    });
    expect(lineOf(month, 'retries')?.count).toBeCloseTo(1);
    expect(lineOf(month, 'timers')?.count).toBe(20);
    expect(lineOf(month, 'waits for an event')?.count).toBe(10);
  });

  test('takes the free tier off the bill, and never below nothing', () => {
    const small = ['--commits=1000', '--reads=1000', '--runs=1000', '--storage-gib=0.5'];
    const free = estimated(small);
    expect(free.dollars).toBeCloseTo(ownPrices.loadBalancerPerMonth);
    expect(estimated([...small, '--no-free-tier']).dollars).toBeGreaterThan(free.dollars);
  });

  test('bills the time of instances in steps, shared by the requests in them', () => {
    const one = lineOf(estimated([...nothing, '--reads=1']), 'document reads');
    expect(one?.seconds).toBe(0.1);
    const shared = lineOf(estimated([...nothing, '--reads=1', '--concurrency=10']), 'document reads');
    expect(shared?.seconds).toBeCloseTo(0.01);
  });

  test('shows what callers cost that wait all month', () => {
    const waiting = lineOf(estimated([...nothing, '--waiting-callers=1']), 'waiting calls without result');
    expect(waiting).toMatchObject({ count: 129_600, reads: 129_600 * 20 });
    expect(waiting?.seconds).toBeGreaterThan(2_500_000);
  });

  test('is higher in a multi-region, and in prices of your own', () => {
    const month = estimated([]);
    expect(estimated(['--region', 'nam5']).dollars).toBeGreaterThan(month.dollars);
    const own = { ...ownPrices, tasksPerMillion: 400 };
    expect(estimated([], own).dollars).toBeGreaterThan(month.dollars + 300);
  });
});

describe('the command line', () => {
  test.each([
    ['--runs', 'x'],
    ['--runs', '-1'],
    ['--region', 'mars'],
    ['--worker', 'none'],
    ['--concurrency', '0'],
    ['--prices', '/nowhere.json'],
    ['--unknown', '1'],
  ])('%s %s is refused', (name, value) => {
    expect(() => readOptions([`${name}=${value}`], ownPrices)).toThrow(OptionFault);
  });

  test('help names every option with its default', () => {
    const help = helpText(ownPrices);
    for (const name of ['--commits', '--checkpoints', '--waiting-callers', '--prices', '--json']) {
      expect(help).toContain(name);
    }
  });

  test('the table names the date of the prices, and has a line for each operation', () => {
    const month = estimated([]);
    const text = estimateText(month, month.input);
    expect(text).toContain(`as of ${ownPrices.asOf}`);
    for (const { name } of [...month.lines, ...month.products]) expect(text).toContain(name);
  });

  test('prints JSON for programs, and prices that it takes back', () => {
    const run = (...args: string[]) =>
      execFileSync(process.execPath, ['scripts/cost.ts', ...args], { encoding: 'utf8' });
    expect(JSON.parse(run('--json'))).toMatchObject({
      dollars: expect.any(Number),
      lines: expect.any(Array),
    });
    expect(JSON.parse(run('--show-prices'))).toEqual(ownPrices);
  });
});
