import type { GroupHandlers } from '../../http/handler.ts';
import { cutHeaders } from '../../http/list-headers.ts';
import type { RecordAccess } from '../../identity/record-access.ts';
import { ExpectedAbsence } from '../../kernel/errors.ts';
import { exportTraces as readExport } from '../../traces/export-traces.ts';
import type { TraceParts } from '../../traces/parts.ts';
import { pruneTraces as removeSelected } from '../../traces/prune-traces.ts';
import { listTraces as readList, getTrace as readTrace } from '../../traces/read-traces.ts';
import { readLimit, readPrune } from '../../traces/rules/prune-request.ts';
import { summarizeTraces as readSummary } from '../../traces/summarize-traces.ts';

type Handlers = GroupHandlers<'traces'>;

export function listTraces(traces: TraceParts, access: RecordAccess): Handlers['listTraces'] {
  return async ({ query: { operation = null, limit } }, context) => {
    const space = access.spaceOf(context.caller, 'read');
    const found = await readList(traces, space, { operation, limit: readLimit(limit) }, context);
    return { status: 200, body: [...found.traces], headers: cutHeaders(found.leftOut !== null) };
  };
}

export function getTrace(traces: TraceParts, access: RecordAccess): Handlers['getTrace'] {
  return async ({ params: { id } }, { caller }) => {
    const found = await readTrace(traces, access.spaceOf(caller, 'read'), id);
    if (found === null) throw new ExpectedAbsence('The space has no trace of this id.');
    return { status: 200, body: found };
  };
}

export function summarizeTraces(traces: TraceParts, access: RecordAccess): Handlers['summarizeTraces'] {
  return async ({ query: { operation = null } }, { caller }) => ({
    status: 200,
    body: await readSummary(traces, access.spaceOf(caller, 'read'), operation),
  });
}

export function pruneTraces(traces: TraceParts, access: RecordAccess): Handlers['pruneTraces'] {
  return async ({ body }, context) => {
    const space = access.spaceOf(context.caller, 'maintain');
    const selection = readPrune(body);
    const { matchedIds, deletedIds } = await removeSelected(traces, space, selection, context);
    const { operation = null, olderThan = null, keepLatest = null, limit = null } = body;
    const counts = { matchedCount: matchedIds.length, deletedCount: deletedIds.length };
    const asked = { operation, olderThan, keepLatest, limit, dryRun: selection.dryRun };
    return { status: 200, body: { ...asked, ...counts, matchedIds, deletedIds } };
  };
}

export function exportTraces(traces: TraceParts, access: RecordAccess): Handlers['exportTraces'] {
  return async ({ body: { operation = null, limit, failOnUnsafeContent } }, context) => {
    const space = access.spaceOf(context.caller, 'read');
    const request = { operation, limit: readLimit(limit), failOnUnsafeContent: failOnUnsafeContent === true };
    const { bundle, hasMore } = await readExport(traces, space, request, context);
    return { status: 200, body: bundle, headers: cutHeaders(hasMore) };
  };
}
