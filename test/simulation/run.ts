import { parseArgs } from 'node:util';
import { ALL_FLAWS, simulate } from './canonical.ts';
import { compareUtf8 } from './memory-list.ts';

const HELP = `Simulates two instances of the canonical store under faults, one seed after the other.

  node test/simulation/run.ts [--seeds 1..2000] [--bug NAME] [--seed N [--trace]]

  --seeds FROM..TO  the seeds to run (default 1..2000)
  --seed N          one seed
  --trace           with --seed: prints every step
  --bug NAME        plants a bug; the run then ends at the first seed that finds it
  --help            this text

Bugs: ${Object.entries(ALL_FLAWS)
  .map(([name, { about }]) => `\n  ${name.padEnd(20)}${about}`)
  .join('')}

Exits with 1 when an invariant was broken.
`;

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
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
  return runSeeds(from, to, values.bug, values.trace);
}

async function runSeeds(from: number, to: number, flaw: string | undefined, trace: boolean): Promise<number> {
  const started = performance.now();
  const reached = new Map<string, number>();
  let [steps, histories, runs] = [0, 0, 0];
  let failed = false;
  for (let seed = from; seed <= to && !failed; seed++) {
    const report = await simulate(seed, { trace, ...(flaw === undefined ? {} : { flaw }) });
    runs++;
    steps += report.steps;
    histories += report.histories;
    for (const [what, count] of report.reached) reached.set(what, (reached.get(what) ?? 0) + count);
    for (const line of report.log ?? []) process.stdout.write(`${line}\n`);
    if (trace) process.stdout.write(`trace hash ${report.traceHash}\n`);
    if (report.violation === undefined) continue;
    failed = true;
    const again = `node test/simulation/run.ts --seed ${seed} --trace${flaw === undefined ? '' : ` --bug ${flaw}`}`;
    process.stdout.write(`seed ${seed} broke ${report.violation.message}\nreplay: ${again}\n`);
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
