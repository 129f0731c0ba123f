import { listPages, recordsOf } from '../../store/pages.ts';
import { RUN_GROUP, RUN_INDEX, RUNS, readRun } from '../records.ts';
import { isTerminal, type Run, type TerminalStatus } from '../run.ts';
import type { Runtime } from '../runtime.ts';

export const TERMINAL: readonly TerminalStatus[] = [
  'succeeded',
  'failed',
  'cancelled',
  'rejected',
  'timed_out',
];

const PAGE = 100;

/** Terminal runs of all statuses, newest first by id. */
export async function* terminalRuns(runtime: Runtime): AsyncGenerator<Run> {
  const lanes = await Promise.all(
    TERMINAL.map(async (status) => {
      const runs = runsWith(runtime, status);
      return { runs, head: (await runs.next()).value };
    }),
  );
  for (;;) {
    const heads = lanes.filter(({ head }) => head !== undefined);
    const [newest] = heads.sort((a, b) => ((a.head?.id ?? '') < (b.head?.id ?? '') ? 1 : -1));
    if (newest?.head === undefined) return;
    yield newest.head;
    newest.head = (await newest.runs.next()).value;
  }
}

async function* runsWith(
  runtime: Runtime,
  status: TerminalStatus,
): AsyncGenerator<Run, undefined, undefined> {
  const store = await runtime.store();
  const pages = listPages(store, runtime.scope, {
    collection: RUNS,
    group: RUN_GROUP,
    equal: { [RUN_INDEX.status]: status },
    direction: 'descending',
    limit: PAGE,
  });
  for await (const record of recordsOf(pages)) {
    const run = readRun(record);
    if (isTerminal(run.status)) yield run;
  }
}
