import { parseArgs } from 'node:util';
import { ALL_FLAWS, type Options, type Report, simulate } from './canonical.ts';
import { simulateExecution } from './execution.ts';
import { simulateExecutionCloud } from './execution-cloud.ts';
import { CLOUD_FLAWS } from './execution-cloud-flaws.ts';
import { EXECUTION_FLAWS } from './execution-flaws.ts';
import { simulateConcurrencyKeys } from './execution-keys.ts';
import { KEY_FLAWS } from './execution-keys-flaws.ts';
import { simulateStartKeys } from './execution-start-keys.ts';
import { START_KEY_FLAWS } from './execution-start-keys-flaws.ts';
import { compareUtf8 } from './memory-list.ts';

interface World {
  readonly flaws: Readonly<Record<string, { readonly about: string }>>;
  readonly simulate: (seed: number, options: Options) => Promise<Report>;
}

const WORLDS: Readonly<Record<string, World>> = {
  canonical: { flaws: ALL_FLAWS, simulate },
  execution: { flaws: EXECUTION_FLAWS, simulate: simulateExecution },
  'concurrency-keys': { flaws: KEY_FLAWS, simulate: simulateConcurrencyKeys },
  'start-keys': { flaws: START_KEY_FLAWS, simulate: simulateStartKeys },
  'execution-cloud': { flaws: CLOUD_FLAWS, simulate: simulateExecutionCloud },
};

const HELP = `Simulates instances of the service over one store under faults, one seed after the other.

  node test/simulation/run.ts [--world NAME] [--seeds 1..2000] [--bug NAME] [--seed N [--trace]]

  --world NAME      what is simulated: ${Object.keys(WORLDS).join(' or ')} (default canonical)
  --seeds FROM..TO  the seeds to run (default 1..2000)
  --seed N          one seed
  --trace           with --seed: prints every step
  --bug NAME        plants a bug; the run then ends at the first seed that finds it
  --help            this text

${Object.entries(WORLDS).map(bugsOf).join('\n\n')}

Exits with 1 when an invariant was broken.
`;

function bugsOf([world, { flaws }]: [string, World]): string {
  const lines = Object.entries(flaws).map(([name, { about }]) => `\n  ${name.padEnd(25)}${about}`);
  return `Bugs of ${world}:${lines.join('')}`;
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      world: { type: 'string', default: 'canonical' },
      seeds: { type: 'string', default: '1..2000' },
      seed: { type: 'string' },
      bug: { type: 'string' },
      trace: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const [from, to] = (values.seed === undefined ? values.seeds.split('..') : [values.seed, values.seed]).map(
    Number,
  );
  if (from === undefined || to === undefined || !Number.isInteger(from) || !Number.isInteger(to)) {
    process.stderr.write('--seeds takes two whole numbers such as 1..2000\n');
    return 2;
  }
  const world = WORLDS[values.world];
  if (world === undefined) {
    process.stderr.write(`--world takes ${Object.keys(WORLDS).join(' or ')}\n`);
    return 2;
  }
  const again = `node test/simulation/run.ts --world ${values.world}`;
  return runSeeds(world, { from, to, flaw: values.bug, trace: values.trace, again });
}

interface Seeds {
  readonly from: number;
  readonly to: number;
  readonly flaw: string | undefined;
  readonly trace: boolean;
  /** The command that simulates this world once more. */
  readonly again: string;
}

async function runSeeds(world: World, { from, to, flaw, trace, again }: Seeds): Promise<number> {
  const started = performance.now();
  const reached = new Map<string, number>();
  let [steps, histories, runs] = [0, 0, 0];
  let failed = false;
  for (let seed = from; seed <= to && !failed; seed++) {
    const report = await world.simulate(seed, { trace, ...(flaw === undefined ? {} : { flaw }) });
    runs++;
    steps += report.steps;
    histories += report.histories;
    for (const [what, count] of report.reached) reached.set(what, (reached.get(what) ?? 0) + count);
    for (const line of report.log ?? []) process.stdout.write(`${line}\n`);
    if (trace) process.stdout.write(`trace hash ${report.traceHash}\n`);
    if (report.violation === undefined) continue;
    failed = true;
    const replay = `${again} --seed ${seed} --trace${flaw === undefined ? '' : ` --bug ${flaw}`}`;
    process.stdout.write(`seed ${seed} broke ${report.violation.message}\nreplay: ${replay}\n`);
  }
  const seconds = (performance.now() - started) / 1_000;
  const rates = [...reached].map(([what, count]) => `  ${what}: ${count}`).sort(compareUtf8);
  process.stdout.write(`reached:\n${rates.join('\n')}\n`);
  process.stdout.write(
    `${runs} seeds, ${steps} steps, ${histories} histories in ${seconds.toFixed(1)} s: ` +
      `${(runs / seconds).toFixed(0)} seeds/s, ${(steps / seconds).toFixed(0)} steps/s\n`,
  );
  return failed ? 1 : 0;
}

process.exitCode = await main();
