import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rooms } from '../../test/mutation/rooms.ts';
import { requireTools, toolPath } from '../tools.ts';

export interface Figures {
  readonly room: string;
  /** With a `+` where the working tree differed from it. */
  readonly commit: string;
  readonly version: string;
  readonly day: string;
  readonly mutants: number;
  readonly found: number;
  readonly linesPercent: number;
  readonly survivors: readonly string[];
}

interface Mutant {
  readonly status: string;
  readonly mutatorName: string;
  readonly replacement?: string;
  readonly location: { readonly start: { readonly line: number } };
}

interface Report {
  readonly files: Readonly<Record<string, { readonly source: string; readonly mutants: readonly Mutant[] }>>;
}

const root = join(import.meta.dirname, '../..');
const inReports = (path: string) => join(root, 'dist/mutation', path);

const git = (...args: readonly string[]) =>
  spawnSync('git', args, { cwd: root, encoding: 'utf8' }).stdout.trim();

/** The commit that a report is of: what a run changes or reads beside it must be as committed. */
export function currentCommit(): string {
  const changed = git('status', '--porcelain', '--', 'functions', 'contracts', 'test', 'package-lock.json');
  return git('rev-parse', '--short=12', 'HEAD') + (changed === '' ? '' : '+');
}

/** The last measured figures of a room; `undefined` before the first measurement. */
export function lastFigures(room: string): Figures | undefined {
  try {
    return readJson<Figures>(inReports(`${room}.json`));
  } catch {
    return undefined;
  }
}

/** Measures one room: first the lines that its tests reach, then the mutants that they find. */
export function measure(room: string): Figures {
  if (rooms[room] === undefined) throw new Error(`There is no room ${room}: see --list.`);
  rmSync(inReports(room), { recursive: true, force: true });
  const env = { ...process.env, MUTATION_ROOM: room };
  const config = 'vitest.mutation.config.ts';
  requireTools();
  run(
    env,
    join(root, 'node_modules/vitest/vitest.mjs'),
    'run',
    '--config',
    config,
    '--coverage',
    '--reporter=dot',
  );
  run(
    env,
    toolPath('@stryker-mutator/core/bin/stryker.js'),
    'run',
    'stryker.config.js',
    '--concurrency',
    concurrency(),
  );
  const { version } = readJson<{ readonly version: string }>(join(root, 'package.json'));
  const lines = readJson<{ readonly total: { readonly lines: { readonly pct: number } } }>(
    inReports(`${room}/coverage/coverage-summary.json`),
  );
  const figures = {
    room,
    commit: currentCommit(),
    version,
    day: new Date().toISOString().slice(0, 10),
    ...judged(readJson<Report>(inReports(`${room}/mutants.json`))),
    linesPercent: lines.total.lines.pct,
  };
  writeFileSync(inReports(`${room}.json`), JSON.stringify(figures, null, 1));
  return figures;
}

const concurrency = () => process.env['MUTATION_CONCURRENCY'] ?? '2';

function run(env: NodeJS.ProcessEnv, program: string, ...args: readonly string[]): void {
  const { status } = spawnSync(process.execPath, [program, ...args], { cwd: root, env, stdio: 'inherit' });
  if (status !== 0) throw new Error(`${program} ended with the status ${status}.`);
}

/**
 * The mutants that count, those that a test found, and a line for each that none found.
 * @testonly
 */
export function judged(report: Report): Pick<Figures, 'mutants' | 'found' | 'survivors'> {
  let mutants = 0;
  const survivors: string[] = [];
  for (const [file, { source, mutants: all }] of Object.entries(report.files)) {
    const lines = source.split('\n');
    for (const { status, mutatorName, replacement = '', location } of all) {
      if (['CompileError', 'RuntimeError', 'Ignored'].includes(status)) continue;
      mutants += 1;
      if (status !== 'Survived' && status !== 'NoCoverage') continue;
      const { line } = location.start;
      survivors.push(
        `- \`${file}:${line}\` ${mutatorName} → ${quoted(replacement)}: ${quoted(lines[line - 1] ?? '')}`,
      );
    }
  }
  return { mutants, found: mutants - survivors.length, survivors };
}

/** One line of code with enough backticks around it. */
function quoted(code: string): string {
  const line = code.trim().replace(/\s+/g, ' ').slice(0, 100);
  return line.includes('`') ? `\`\` ${line} \`\`` : `\`${line}\``;
}

function readJson<T>(path: string): T {
  return JSON.parse(readFileSync(path, 'utf8')) as T;
}
