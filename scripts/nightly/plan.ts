import { parseArgs } from 'node:util';
import type { Lane } from '../../test/lanes.ts';
import { OptionFault } from '../repeat/options.ts';
import type { Failure } from '../repeat/series.ts';

export const SEED_MAX = 1_000_000;
/** Seeds of each simulated world in one night; also the distance between the seeds of two nights. */
const WORLD_SEEDS = 2_000;
/** Seeds between two looks at the clock. */
const TURN_SEEDS = 100;

/** The worlds of `test/simulation/run.ts`. */
export const worlds = [
  'canonical',
  'execution',
  'concurrency-keys',
  'start-keys',
  'execution-cloud',
] as const;

export const help = `Runs all tests with the effort of a nightly run, further seeds of the simulation, the stored ratios of the benchmarks, then the mutation runs.

  npm run test:nightly [-- --seed N] [--minutes M] [--no-bench] [--no-mutants] [--list] [-- path ...]

  --seed N     shifts every seed, 1 to ${SEED_MAX} (default: drawn); the same number repeats a run
  --minutes M  the simulation begins no further ${TURN_SEEDS} seeds after so many minutes (default 30; 0 leaves it out)
  --no-bench   leaves out the benchmarks (npm run bench -- --check), which need a machine without other load; so does a run of single files
  --no-mutants leaves out the mutation runs (npm run quality), which take hours; so does a run of single files
  --list       prints what runs here alone, and runs nothing
  -- path ...  only these test files, as Vitest takes them, and other options for Vitest
  --help       this text

The tests are those of both lanes and the files named *.nightly.test.ts. The simulation tries up to ${WORLD_SEEDS} seeds of each world.
The seed is the first line and among the last, with one line for each failed test that repeats it. Exits with 1 when anything failed.
`;

export interface NightlyOptions {
  readonly seed: number;
  readonly minutes: number;
  readonly bench: boolean;
  readonly mutants: boolean;
  readonly list: boolean;
  readonly paths: readonly string[];
}

export function readOptions(argv: readonly string[], drawSeed: () => number): NightlyOptions | 'help' {
  const end = argv.indexOf('--');
  const { values } = parsed(end < 0 ? argv : argv.slice(0, end));
  if (values.help) return 'help';
  const seed = values.seed === undefined ? drawSeed() : Number(values.seed);
  if (!Number.isInteger(seed) || seed < 1 || seed > SEED_MAX)
    throw new OptionFault(`--seed takes a whole number from 1 to ${SEED_MAX}.`);
  const minutes = Number(values.minutes);
  if (!(minutes >= 0)) throw new OptionFault('--minutes takes a number, at least 0.');
  const paths = end < 0 ? [] : argv.slice(end + 1);
  const whole = paths.length === 0;
  return {
    seed,
    minutes,
    bench: values.bench && whole,
    mutants: values.mutants && whole,
    list: values.list,
    paths,
  };
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowNegative: true,
      options: {
        seed: { type: 'string' },
        minutes: { type: 'string', default: '30' },
        bench: { type: 'boolean', default: true },
        mutants: { type: 'boolean', default: true },
        list: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    });
  } catch (error) {
    throw new OptionFault((error as Error).message);
  }
}

/** The arguments of `test/simulation/run.ts` for each turn, the worlds by turns. No night repeats the seeds of the lanes or of another night. */
export function turnsOf(seed: number): string[][] {
  const first = seed * WORLD_SEEDS + 1;
  const starts = Array.from({ length: WORLD_SEEDS / TURN_SEEDS }, (_, at) => first + at * TURN_SEEDS);
  return starts.flatMap((from) =>
    worlds.map((world) => ['--world', world, '--seeds', `${from}..${from + TURN_SEEDS - 1}`]),
  );
}

/** The command that repeats a failure of a run with this seed. */
export function repeatLine(seed: number, { path, name }: Failure, laneOf: (path: string) => Lane): string {
  const variables = `TEST_SEED=${seed} TEST_NIGHTLY=true`;
  if (path === undefined) return `npm run test:nightly -- --seed ${seed}`;
  const only = name === undefined ? '' : ` -t ${quoted(name.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'))}`;
  return `${variables} npx vitest run --project '${laneOf(path)}*' ${path}${only}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
