import { machine } from '../functions/compose/machine.ts';
import { DEFAULT_SPACE } from '../functions/identity/record-access.ts';
import type { RecordStore } from '../functions/store/port.ts';
import { createTraceParts } from '../functions/traces/parts.ts';
import { writeTrace } from '../functions/traces/write-trace.ts';
import type { RecordBehaviour } from './said-defaults-records.ts';

/** The behaviour of the service if members of requests on traces are absent. */

const UNSAFE = 'said.unsafe';

/** Writes a trace for which an export gives a warning. */
export async function writeUnsafeTrace(opened: RecordStore): Promise<void> {
  const limits = { readsPerCallMax: 100, answerBytesMax: 100_000, retentionMs: null };
  const parts = createTraceParts({ store: () => Promise.resolve(opened), world: machine, limits });
  const content = { adapter: null, request: { password: 'p' }, resultSummary: {} };
  const times = { startedAt: machine.clock.now(), durationMs: 1 };
  await writeTrace(parts, DEFAULT_SPACE, { id: UNSAFE, operation: UNSAFE, ...content, ...times });
}

export const tracesAsDone: Readonly<Record<string, RecordBehaviour>> = {
  'TracePruneRequest.dryRun': {
    other: true,
    async of(call, added) {
      const request = { operation: 'absent', ...added };
      return ((await call('POST', '/traces/prune', request)).body as { dryRun: boolean }).dryRun;
    },
  },
  'TraceExportRequest.failOnUnsafeContent': {
    other: true,
    async of(call, added) {
      return (await call('POST', '/traces/export', { operation: UNSAFE, ...added })).status;
    },
  },
};
