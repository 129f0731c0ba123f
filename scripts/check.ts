import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { Command } from 'commander';
import { type Check, type Outcome, runChecks } from './check/pool.ts';

// These programs end at half of this memory, so they need not collect any: that saves a quarter of their time.
const env = { GOGC: 'off', GOMEMLIMIT: '4GiB' };

/** The longest first, so that no long one is left alone at the end. */
const checks: readonly Check[] = [
  { name: 'lint', command: ['oxlint', '--type-aware'], env },
  // One checker works a sixth less than two, and the linter uses the other processor.
  { name: 'types', command: ['tsc', '--checkers', '1'], env },
  { name: 'generated', command: ['node', 'scripts/generate.ts', '--check'] },
  { name: 'format', command: ['biome', 'check'] },
  { name: 'unused', command: ['knip', '--no-progress', '--treat-config-hints-as-errors'] },
  // An export that only tests import has the tag `@testonly`; the tag on an export that the product also imports is a failure.
  {
    name: 'unused-product',
    command: ['knip', '--no-progress', '--production', '--tags=-testonly', '--treat-tag-hints-as-errors'],
  },
  { name: 'types-sdk', command: ['tsc', '-p', 'sdk/typescript', '--noEmit'], env },
  {
    name: 'openapi',
    command: ['redocly', 'lint', '--config', 'contracts/redocly.yaml'],
    env: { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
  },
  { name: 'types-dispatcher', command: ['tsc', '-p', 'dispatcher'], env },
  { name: 'versions', command: ['node', 'scripts/versions.ts'] },
];

await new Command('check')
  .description('Runs the checks, as many at a time as there are processors, and prints what failed.')
  .option('--only <names>', 'the checks to run, joined by commas')
  .option('--list', 'prints the names of the checks and their commands')
  .action(({ only, list }: { only?: string; list?: true }) =>
    list ? console.log(checks.map(lineOf).join('\n')) : run(chosen(only)),
  )
  .parseAsync();

function lineOf({ name, command }: Check): string {
  return `${name.padEnd(18)}${command.join(' ')}`;
}

function chosen(only: string | undefined): readonly Check[] {
  const names = only?.split(',') ?? checks.map(({ name }) => name);
  return names.map((name) => {
    const check = checks.find((each) => each.name === name);
    if (check === undefined) throw new Error(`there is no check ${name}`);
    return check;
  });
}

async function run(list: readonly Check[]): Promise<void> {
  const stop = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => stop.abort());
  const outcomes = await runChecks(list, {
    root: resolve(import.meta.dirname, '..'),
    width: availableParallelism(),
    signal: stop.signal,
    onEnd: ({ name, passed, seconds }) =>
      console.log(`${passed ? 'passed' : 'FAILED'}  ${name.padEnd(18)}${seconds.toFixed(1).padStart(6)} s`),
  });
  const failed = outcomes.filter(({ passed }) => !passed);
  if (!stop.signal.aborted) for (const each of failed) print(each);
  if (failed.length > 0 || outcomes.length < list.length) process.exitCode = 1;
}

function print({ name, output }: Outcome): void {
  console.error(`\n${name} failed:\n${output}`);
}
