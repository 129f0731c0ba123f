import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { OptionFault } from '../repeat/options.ts';
import { readOptions, repeatLine, turnsOf, worlds } from './plan.ts';

describe('npm run test:nightly', () => {
  test('takes its seed, or draws it', () => {
    const drawn = () => 42;
    expect(readOptions([], drawn)).toEqual({
      seed: 42,
      minutes: 30,
      bench: true,
      mutants: true,
      list: false,
      paths: [],
    });
    expect(readOptions(['--seed', '7', '--minutes', '0.5', '--', 'a.test.ts'], drawn)).toEqual({
      seed: 7,
      minutes: 0.5,
      bench: false,
      mutants: false,
      list: false,
      paths: ['a.test.ts'],
    });
    expect(readOptions(['--no-mutants'], drawn)).toMatchObject({ bench: true, mutants: false });
    expect(readOptions(['--no-bench'], drawn)).toMatchObject({ bench: false, mutants: true });
    for (const argv of [['--seed', '0'], ['--seed', '1.5'], ['--minutes', '-1'], ['--fast']])
      expect(() => readOptions(argv, drawn), argv.join(' ')).toThrow(OptionFault);
  });

  test('prints the line that repeats a failure, which a shell and a pattern read as it is', () => {
    const file = { title: '', message: '', path: 'test/a.test.ts' };
    const nameOfTest = `it's 50 % (of $1) [or more]`;
    const line = repeatLine(7, { ...file, name: nameOfTest }, () => 'rest');
    const [, command, pattern] = /^(.*) -t (.*)$/.exec(line) ?? [];
    expect(command).toBe("TEST_SEED=7 TEST_NIGHTLY=true npx vitest run --project 'rest*' test/a.test.ts");
    const { stdout } = spawnSync('sh', ['-c', `printf %s ${pattern}`], { encoding: 'utf8' });
    expect(nameOfTest).toMatch(new RegExp(`^${stdout}$`));
    expect(repeatLine(7, file, () => 'plain')).not.toContain(' -t ');
    expect(repeatLine(7, { title: '', message: '' }, () => 'plain')).toBe('npm run test:nightly -- --seed 7');
  });

  test('simulates each world with seeds that no other night and no lane has', () => {
    const seeds = (seed: number) =>
      turnsOf(seed)
        .filter(([, world]) => world === 'execution')
        .map((args) => (args.at(-1) ?? '').split('..').map(Number));
    const nights = [...seeds(1), ...seeds(2)];
    expect(nights[0]?.[0]).toBe(2_001);
    for (const [at, [from]] of nights.entries())
      if (at > 0) expect(from).toBe((nights[at - 1]?.[1] ?? 0) + 1);
    expect(
      turnsOf(1)
        .slice(0, worlds.length)
        .map(([, world]) => world),
    ).toEqual([...worlds]);
  });

  test('knows every world of the simulation', () => {
    const text = readFileSync(resolve(import.meta.dirname, '../../test/simulation/run.ts'), 'utf8');
    const table = /WORLDS: [^\n]*\{\n(.*?)\n\};/s.exec(text)?.[1] ?? '';
    expect([...table.matchAll(/^ {2}'?([a-z-]+)'?: \{/gm)].map(([, name]) => name)).toEqual([...worlds]);
  });
});
