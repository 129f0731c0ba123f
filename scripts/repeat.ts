/** `npm run test:repeat`: a lane again and again under load, to find tests that fail by chance (`--help`). */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join, resolve } from 'node:path';
import { Burners } from './repeat/burners.ts';
import { help, OptionFault, type RepeatOptions, readOptions, roundOf, seriesName } from './repeat/options.ts';
import { hasTests, progressText, type Report, readRounds, summaryOf, totalsText } from './repeat/series.ts';
import { nameOf, readWorkTree } from './repeat/work-tree.ts';

const vitest = resolve(import.meta.dirname, '../node_modules/vitest/vitest.mjs');
/** The end of Vitest's output that a round keeps when the run failed although no test did. */
const FAULT_CHARACTERS = 4_000;

/** A round without a result: it does not count, and the series ends. */
class RoundFault extends Error {
  override readonly name = 'RoundFault';
}

let running: ChildProcess | undefined;
let stopSignal: 'SIGINT' | 'SIGTERM' | 'SIGHUP' | undefined;
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(name, () => {
    running?.kill(stopSignal === undefined ? 'SIGTERM' : 'SIGKILL');
    stopSignal = name;
  });
}

try {
  const options = readOptions(process.argv.slice(2));
  if (options === 'help') console.log(help);
  else process.exitCode = await repeat(options);
} catch (error) {
  if (!(error instanceof OptionFault || error instanceof RoundFault)) throw error;
  console.error(error.message);
  process.exitCode = stopSignal === undefined ? 2 : 128 + constants.signals[stopSignal];
}

async function repeat(options: RepeatOptions): Promise<number> {
  const tree = readWorkTree(process.cwd());
  if (tree.changes !== undefined && !options.dirty)
    throw new OptionFault(
      'The work tree differs from its commit. Commit the changes, or allow them with --dirty.',
    );
  const name = nameOf(tree);
  const folder = resolve(options.out, name, seriesName(options, process.env));
  mkdirSync(folder, { recursive: true });
  const known = new Set(readRounds(folder).map(({ number }) => number));
  console.log(`${folder}: ${known.size} rounds so far`);
  const missing = Array.from({ length: options.times }, (_, at) => at + 1).filter(
    (number) => !known.has(number),
  );
  const started = performance.now();
  for (const [done, number] of missing.entries()) {
    const elapsedMs = performance.now() - started;
    console.log(
      progressText(
        { number, times: options.times, done, left: missing.length - done, elapsedMs },
        Date.now(),
      ),
    );
    const report = await runRound(options, join(folder, `running-${process.pid}.json`), name);
    writeRound(join(folder, `round-${number}.json`), report);
    console.log(`round ${number}: ${totalsText(report, process.cwd())}`);
  }
  const { failed, text } = summaryOf(readRounds(folder), process.cwd());
  console.log(text);
  return failed === 0 ? 0 : 1;
}

function refuseWhenStopped(): void {
  if (stopSignal !== undefined)
    throw new RoundFault(`${stopSignal} has ended the series. A round that it cut off does not count.`);
}

/** A reader of the folder sees a whole round or none. */
function writeRound(path: string, report: Report): void {
  writeFileSync(`${path}.part`, JSON.stringify(report));
  renameSync(`${path}.part`, path);
}

async function runRound(options: RepeatOptions, path: string, name: string): Promise<Report> {
  const burners = new Burners(options.load);
  try {
    // A signal may also come between two rounds.
    refuseWhenStopped();
    const { code, output } = await runVitest(options, path);
    refuseWhenStopped();
    const report = existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Report) : undefined;
    if (code === null || report === undefined || !hasTests(report))
      throw new RoundFault(`Vitest ended without results. The round does not count.\n${output}`);
    if (!burners.areAlive) throw new RoundFault('A process of the load has ended. The round does not count.');
    if (nameOf(readWorkTree(process.cwd())) !== name)
      throw new RoundFault('The work tree changed during the round. The round does not count.');
    return code === 0 ? report : { ...report, fault: output };
  } finally {
    await burners.stop();
    rmSync(path, { force: true });
  }
}

/** Prints what Vitest prints, and returns its end. */
async function runVitest(options: RepeatOptions, path: string) {
  const { args, env } = roundOf(options, process.env);
  const reporters = ['--reporter=minimal', '--reporter=json', `--outputFile.json=${path}`];
  running = spawn(process.execPath, [vitest, ...args, ...reporters], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const [from, to] of [
    [running.stdout, process.stdout] as const,
    [running.stderr, process.stderr] as const,
  ]) {
    from?.setEncoding('utf8').on('data', (text: string) => {
      to.write(text);
      output = `${output}${text}`.slice(-FAULT_CHARACTERS);
    });
  }
  const [code] = (await once(running, 'close')) as [number | null];
  running = undefined;
  return { code, output };
}
