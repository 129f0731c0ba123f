import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { machine } from '../../../functions/compose/machine.ts';
import { confirmByName, mustAsk } from '../../confirm.ts';
import { interruptible } from '../../interruption.ts';
import { exitCodes, ToolError, warn } from '../../output.ts';
import { ProgressLine } from '../../progress.ts';
import { addressText } from '../../remote/address.ts';
import { Refused } from '../../remote/refused.ts';
import type { Remote } from '../../remote.ts';
import { filterGiven, type RunFilter, readRuns } from '../filter.ts';
import { forEachId } from './each.ts';
import type { BulkOptions } from './options.ts';
import { printResults } from './print.ts';
import {
  type BulkAction,
  type BulkFile,
  type BulkHeader,
  type BulkResult,
  checkSame,
  headerOf,
  leftOf,
} from './results.ts';
import { ResultsFile, readResultsFile } from './results-file.ts';

export interface BulkWork {
  readonly action: BulkAction;
  readonly words: BulkWords;
  /** Options beside the filter. */
  readonly options: Readonly<Record<string, unknown>>;
  /** The statuses of the runs, where the filter names none. */
  readonly statuses: readonly string[];
  readonly perform: (id: string, header: BulkHeader) => Promise<Omit<BulkResult, 'id' | 'error'>>;
}

interface BulkWords {
  /** `cancelled` */
  readonly done: string;
  /** `cancelling` */
  readonly doing: string;
}

/** Does the work for each run that the filter finds, or that a file of results still has to do. */
export async function bulk(remote: Remote, options: BulkOptions, work: BulkWork): Promise<void> {
  const path = options.results;
  const file = path === undefined ? null : await readResultsFile(path);
  const header = file === null ? await found(remote, options, work) : continued(remote, options, work, file);
  const ids = file === null ? header.ids : leftOf(file);
  const { words } = work;
  if (options.dryRun === true || ids.length === 0) {
    printResults(
      ids.map((id) => ({ id, status: null, error: null })),
      options.output,
    );
    return warn(options.dryRun === true ? `${runsOf(ids)} would be ${words.done}.` : 'No run is left to do.');
  }
  await confirm(ids, options, words);
  const writer = await writerOf(path, header, file);
  try {
    await carryOut(ids, { header, work, options, writer });
  } finally {
    await writer?.close();
  }
}

/** The runs are fixed before the first of them changes. */
async function found(remote: Remote, options: BulkOptions, work: BulkWork): Promise<BulkHeader> {
  const { status, limit } = options;
  const now = machine.clock.now();
  const ids = new Set<string>();
  let more = false;
  await interruptible('nothing was changed', async (signal) => {
    for (const each of status === undefined ? work.statuses : [status]) {
      const filter: RunFilter = { ...options, status: each };
      const page = await readRuns(remote, filter, { limit: limit - ids.size, now, signal });
      for (const { id } of page.items) ids.add(id);
      more ||= page.more;
      if (ids.size >= limit) break;
    }
  });
  if (more) warn(`More runs match: --limit takes more than ${limit}.`);
  return headerOf({
    action: work.action,
    server: addressText(remote.server),
    batch: randomUUID(),
    options: { ...filterGiven(options), ...work.options },
    ids: [...ids],
  });
}

function continued(remote: Remote, options: BulkOptions, work: BulkWork, { header }: BulkFile): BulkHeader {
  const given = { ...filterGiven(options), ...work.options };
  const same = { action: work.action, server: addressText(remote.server), options: given };
  checkSame(header, same, options.results ?? '');
  return header;
}

async function confirm(
  ids: readonly string[],
  { yes, output }: BulkOptions,
  { done }: BulkWords,
): Promise<void> {
  const effect = `${runsOf(ids)} will be ${done}.`;
  if (!mustAsk({ yes: yes === true, input: process.stdin, effect })) return;
  if (output === 'table') warn(effect);
  const question = `Type the number of runs to go on: `;
  const kept = `no run was ${done}`;
  await interruptible(kept, (signal) =>
    confirmByName({
      tenantId: String(ids.length),
      question,
      kept,
      input: process.stdin,
      output: process.stderr,
      signal,
    }),
  );
}

async function writerOf(
  path: string | undefined,
  header: BulkHeader,
  file: BulkFile | null,
): Promise<ResultsFile | null> {
  if (path === undefined) return null;
  return file === null ? ResultsFile.begin(path, header) : ResultsFile.continue(path, file);
}

interface Parts {
  readonly header: BulkHeader;
  readonly work: BulkWork;
  readonly options: BulkOptions;
  readonly writer: ResultsFile | null;
}

async function carryOut(ids: readonly string[], { header, work, options, writer }: Parts): Promise<void> {
  const { done, doing } = work.words;
  const results: BulkResult[] = [];
  const progress = new ProgressLine({ stream: process.stderr, clock: machine.clock, verbose: false });
  const perform = async (id: string): Promise<void> => {
    const result = await work.perform(id, header).then(
      (made): BulkResult => ({ id, ...made, error: null }),
      (error: unknown): BulkResult => ({ id, status: null, error: refusalOf(error) }),
    );
    await writer?.append(result);
    results.push(result);
    progress.show({ step: doing, records: results.length, recordsTotal: ids.length, unit: 'runs' });
  };
  const summary = () => {
    const all = results.filter(({ error }) => error === null).length;
    return `${all} of ${runsOf(ids)} ${all === 1 ? 'was' : 'were'} ${done}`;
  };
  const next = options.results === undefined ? '' : `; the same command with --results continues`;
  try {
    await interruptible('', (signal) =>
      forEachId(ids, perform, {
        signal,
        now: () => machine.clock.now(),
        pause: (ms, stop) => setTimeout(ms, undefined, { signal: stop }),
      }),
    );
  } catch (error) {
    progress.end();
    printResults(results, options.output);
    if (!(error instanceof ToolError) || error.exitCode <= 128) {
      warn(`${summary()} before this failure${next}.`);
      throw error;
    }
    throw new ToolError(`Interrupted: ${summary()}${next}.`, error.exitCode, { cause: error });
  }
  progress.end();
  printResults(results, options.output);
  warn(`${summary()}.`);
  if (results.some(({ error }) => error !== null)) process.exitCode = exitCodes.failed;
}

/** The refusal of one run. A failure that concerns every run ends the command. */
function refusalOf(error: unknown): string {
  if (!(error instanceof ToolError)) throw error;
  const isOfAll =
    error instanceof Refused
      ? error.status === 401 || error.status >= 500 || error.isLater
      : error.exitCode === exitCodes.unavailable || error.exitCode > 128;
  if (isOfAll) throw error;
  return error.message;
}

function runsOf(ids: readonly string[]): string {
  return ids.length === 1 ? '1 run' : `${ids.length} runs`;
}
