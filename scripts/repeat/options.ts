import { createHash } from 'node:crypto';
import { parseArgs } from 'node:util';

export const help = `Runs the tests of a lane again and again under load, and reports each test that ever failed. It never retries a test.

  npm run test:repeat -- <plain|rest|nightly> [--times N] [--load K] [--out FOLDER] [--dirty] [-- path ...]

  plain, rest    the lane, with the seeds that stand in the files
  nightly        all lanes with the effort of \`npm run test:nightly\`, and the seed of TEST_SEED
  --times N      rounds in all; rounds of an earlier run with the same commit, lane, paths and load count (default 10)
  --load K       processes that burn a core each while the tests run (default 0)
  --out FOLDER   where the series are kept (default dist/test-repeat); a fresh clone or \`npm run build\` may empty dist
  --dirty        allows a work tree with changes; the series is then named after a hash of the changes
  -- path ...    only these test files, as Vitest takes them, and other options for Vitest
  --help         this text

The report of each round is <FOLDER>/<commit>/<lane>-<load>/round-<n>.json. A round that was cut off, or whose work tree changed,
does not count. Exits with 1 when a test failed in any round, with 2 when a round could not be run.
`;

export class OptionFault extends Error {
  override readonly name = 'OptionFault';
}

export interface RepeatOptions {
  readonly lane: 'plain' | 'rest' | 'nightly';
  readonly times: number;
  readonly load: number;
  readonly out: string;
  readonly dirty: boolean;
  readonly paths: readonly string[];
}

export function readOptions(argv: readonly string[]): RepeatOptions | 'help' {
  const end = argv.indexOf('--');
  const own = end < 0 ? argv : argv.slice(0, end);
  const { values, positionals } = parsed(own);
  if (values.help) return 'help';
  const [lane, ...more] = positionals;
  if ((lane !== 'plain' && lane !== 'rest' && lane !== 'nightly') || more.length > 0)
    throw new OptionFault('Name one lane: plain, rest or nightly. Paths follow after another --.');
  return {
    lane,
    times: wholeNumber('times', values.times, 1),
    load: wholeNumber('load', values.load, 0),
    out: values.out,
    dirty: values.dirty,
    paths: end < 0 ? [] : argv.slice(end + 1),
  };
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        times: { type: 'string', default: '10' },
        load: { type: 'string', default: '0' },
        out: { type: 'string', default: 'dist/test-repeat' },
        dirty: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    });
  } catch (error) {
    throw new OptionFault((error as Error).message);
  }
}

function wholeNumber(name: string, text: string, min: number): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < min)
    throw new OptionFault(`--${name} takes a whole number, at least ${min}.`);
  return value;
}

/** The command of each round: the arguments of Vitest, and the variables that choose effort and seeds. */
export function roundOf({ lane, paths }: RepeatOptions, env: NodeJS.ProcessEnv) {
  const isNightly = lane === 'nightly';
  const seed = env['TEST_SEED'] ?? '0';
  return {
    args: ['run', ...(isNightly ? [] : ['--project', `${lane}*`]), '--retry=0', ...paths],
    env: { ...env, TEST_NIGHTLY: `${isNightly}`, TEST_SEED: isNightly ? seed : '0' },
  };
}

/** Names a series inside the folder of its commit. What else chooses the tests of a round goes in as a hash. */
export function seriesName(options: RepeatOptions, env: NodeJS.ProcessEnv): string {
  const { lane, load, paths } = options;
  const seed = roundOf(options, env).env.TEST_SEED;
  const rest = [...paths, ...(seed === '0' ? [] : [`seed ${seed}`])];
  const hash = createHash('sha256').update(JSON.stringify(rest)).digest('hex').slice(0, 8);
  return rest.length === 0 ? `${lane}-${load}` : `${lane}-${load}-${hash}`;
}
