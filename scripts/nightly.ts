/** `npm run test:nightly`: all tests with more effort and a drawn seed, the simulation, benchmarks, then mutation runs (`--help`). */
import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Lane, testLanes } from '../test/lanes.ts';
import {
  help,
  type NightlyOptions,
  readOptions,
  repeatLine,
  SEED_MAX,
  turnsOf,
  worlds,
} from './nightly/plan.ts';
import { OptionFault } from './repeat/options.ts';
import { failuresOf, type Report } from './repeat/series.ts';

const root = resolve(import.meta.dirname, '..');
const REPORT = 'dist/test-reports/nightly.json';

try {
  const options = readOptions(process.argv.slice(2), () => randomInt(1, SEED_MAX + 1));
  if (options === 'help') console.log(help);
  else if (options.list) list();
  else process.exitCode = nightly(options);
} catch (error) {
  if (!(error instanceof OptionFault)) throw error;
  console.error(error.message);
  process.exitCode = 2;
}

function list(): void {
  const { nightly: files } = testLanes(root);
  const simulated = worlds.map((world) => `test/simulation/run.ts --world ${world}, with seeds of the night`);
  console.log([...files, ...simulated, 'test/bench/main.ts --check', 'scripts/quality.ts'].join('\n'));
}

function nightly({ seed, minutes, bench, mutants, paths }: NightlyOptions): number {
  const first = `The seed of this run is ${seed}: npm run test:nightly -- --seed ${seed}`;
  console.log(first);
  const env = { ...process.env, TEST_NIGHTLY: 'true', TEST_SEED: `${seed}` };
  // A report of an earlier run must not stand for this one.
  rmSync(join(root, REPORT), { force: true });
  if (node(['scripts/tools.ts'], process.env) !== 0) return 1;
  const vitest = ['node_modules/vitest/vitest.mjs', 'run', `--outputFile.json=${REPORT}`, ...paths];
  const tests = node(vitest, env);
  const searches = simulate(seed, minutes);
  const totals = node(['scripts/test-totals.mjs', REPORT], env);
  const ratios = bench ? node(['test/bench/main.ts', '--check'], process.env) : 0;
  // A room that is measured at this commit is not measured again.
  const quality = mutants ? node(['scripts/quality.ts'], process.env) : 0;
  console.log([first, ...testRepeats(seed), ...searches].join('\n'));
  return [tests, totals, ratios, quality, searches.length].every((each) => each === 0) ? 0 : 1;
}

function node(args: readonly string[], env: NodeJS.ProcessEnv): number | null {
  return spawnSync(process.execPath, args, { cwd: root, env, stdio: 'inherit' }).status;
}

/** Searches until the seeds or the minutes are used up. Returns a line for each failure that repeats it; each world fails once. */
function simulate(seed: number, minutes: number): string[] {
  const until = performance.now() + minutes * 60_000;
  const failed = new Map<string, string>();
  for (const args of turnsOf(seed)) {
    const [, world = ''] = args;
    if (failed.has(world)) continue;
    if (performance.now() >= until) break;
    const turn = spawnSync(process.execPath, ['test/simulation/run.ts', ...args], {
      cwd: root,
      encoding: 'utf8',
    });
    console.log(`simulation ${args.join(' ')}: ${turn.stdout.trimEnd().split('\n').at(-1)}`);
    if (turn.status === 0) continue;
    console.error(turn.stdout + turn.stderr);
    const again = /^replay: (.*)$/m.exec(turn.stdout)?.[1] ?? `node test/simulation/run.ts ${args.join(' ')}`;
    failed.set(world, `npx ${again}`);
  }
  return [...failed.values()];
}

function testRepeats(seed: number): string[] {
  if (!existsSync(join(root, REPORT))) return [];
  const report = JSON.parse(readFileSync(join(root, REPORT), 'utf8')) as Report;
  const failures = failuresOf(report, root);
  if (failures.length === 0) return [];
  const lanes = Object.entries(testLanes(root)) as [Lane, readonly string[]][];
  const laneOf = (path: string) => lanes.find(([, files]) => files.includes(path))?.[0] ?? 'plain';
  return failures.map((failure) => repeatLine(seed, failure, laneOf));
}
