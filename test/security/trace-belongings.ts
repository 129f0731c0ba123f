import { machine } from '../../functions/compose/machine.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { createTraceParts } from '../../functions/traces/parts.ts';
import { writeTrace } from '../../functions/traces/write-trace.ts';
import type { Party } from './party.ts';

/** The id of the one trace of a party. */
export const traceOf = ({ workerId }: Party): string => `trace-of-${workerId}`;
export const TRACED_OPERATION = 'provider.run';

/** Gives the party a trace with its mark. The service writes traces itself, so it goes into the store of the service. */
export async function furnishTraces(opened: RecordStore, party: Party): Promise<void> {
  const { tenantId, mark } = party;
  const limits = { readsPerCallMax: 1_000, answerBytesMax: 1_000_000, retentionMs: null };
  const parts = createTraceParts({ store: () => Promise.resolve(opened), world: machine, limits });
  await writeTrace(parts, tenantId, {
    id: traceOf(party),
    operation: TRACED_OPERATION,
    adapter: mark,
    request: { provider: mark },
    resultSummary: { status: mark },
    startedAt: machine.clock.now(),
    durationMs: 1,
  });
}
