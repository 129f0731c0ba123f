import type { Handler } from '../../http/handler.ts';
import { listHeaders } from '../../http/list-headers.ts';
import type { Caller } from '../../identity/caller.ts';
import type { ExecutionAccess } from '../../identity/execution-access.ts';
import { verifiedCaller } from '../../identity/verified-caller.ts';
import { invalidMember, pointerTo } from '../../kernel/errors.ts';
import { parseUtc } from '../../kernel/timestamp.ts';
import { listRuns, type RunFilter } from '../../runs/list-runs.ts';
import { readTrace } from '../../runs/read-runs.ts';
import type { Run } from '../../runs/run.ts';
import type { Runtime } from '../../runs/runtime.ts';
import { isIndexedByScope, lanesOf } from '../../runs/scope-index.ts';
import type { ExecutionDependencies } from './dependencies.ts';
import { wireRuns, withinAnswer } from './library/wire-run.ts';
import { readable } from './run-guard.ts';
import { traceWithinAnswer, wireTrace } from './wire.ts';

type ListQuery = Parameters<Handler<'listExecutionRuns'>>[0]['query'];

export function listExecutionRuns({
  runtime,
  access,
  pageTokens,
}: ExecutionDependencies): Handler<'listExecutionRuns'> {
  return async ({ query }, { caller }) => {
    const { listLimitDefault, listLimitMax } = runtime.options;
    const limit = boundedLimit(query.limit, listLimitDefault, listLimitMax);
    const { lanes, visible } = await visibleTo(runtime, access, caller);
    const view = { includeResult: query.includeResult ?? false };
    const filter = filterOf(query);
    const question = questionOf(filter);
    const afterId = await pageTokens.read(question, query.continuationToken);
    const page = await listRuns(runtime, { filter, limit, lanes, visible, afterId });
    const runs = withinAnswer(page.runs, view);
    const large = runs.length < page.runs.length;
    const next = await pageTokens.issue(question, large ? (runs.at(-1)?.id ?? null) : page.next);
    const { continuationToken: _, ...same } = query;
    const headers = listHeaders('/execution/runs', same, {
      next: next === null ? null : { continuationToken: next },
      cut: large || page.cut,
    });
    return { status: 200, body: await wireRuns(runtime, runs, view), headers };
  };
}

/** The lanes of the runs that the caller may see, and the check of each run. */
async function visibleTo(runtime: Runtime, access: ExecutionAccess | null, caller: Caller) {
  if (access === null) return { lanes: ALL, visible: () => true };
  const known = verifiedCaller(caller);
  const indexed = await isIndexedByScope(runtime, runtime.world.clock.now());
  return {
    lanes: indexed ? lanesOf(access.visibleRuns(known)) : ALL,
    visible: (run: Run) => access.maySee(known, run),
  };
}

const ALL = [{}];

/** A tag is named as in the wire model or, shorter, in the singular. */
const TAG_PREFIX = /^tags?\./;

function tagsOf(query: ListQuery): Readonly<Record<string, string>> {
  const tags = new Map<string, string>();
  for (const [name, value] of Object.entries(query)) {
    if (!TAG_PREFIX.test(name)) continue;
    const tag = name.replace(TAG_PREFIX, '');
    if (tags.has(tag)) throw invalidMember(pointerTo('', name), 'must name a tag once');
    tags.set(tag, String(value));
  }
  return Object.fromEntries(tags);
}

/** A filter that an earlier release does not know is part of the question only where it is asked: tokens of that release hold. */
function questionOf({ handlerVersion, ...filter }: RunFilter) {
  const version = handlerVersion === null ? {} : { handlerVersion };
  return { operation: 'listExecutionRuns', ...filter, ...version };
}

function filterOf(query: ListQuery): RunFilter {
  return {
    handlerId: query.handlerId ?? null,
    handlerVersion: query.handlerVersion ?? null,
    pluginId: query.pluginId ?? null,
    status: query.status ?? null,
    correlationId: query.correlationId ?? null,
    idempotencyKey: query.idempotencyKey ?? null,
    createdAfter: momentOf(query.createdAfterUtc, 'createdAfterUtc'),
    createdBefore: momentOf(query.createdBeforeUtc, 'createdBeforeUtc'),
    updatedAfter: momentOf(query.updatedAfterUtc, 'updatedAfterUtc'),
    updatedBefore: momentOf(query.updatedBeforeUtc, 'updatedBeforeUtc'),
    tags: tagsOf(query),
  };
}

function momentOf(text: string | undefined, name: string): number | null {
  if (text === undefined) return null;
  const at = parseUtc(text);
  if (at === undefined) throw invalidMember(`/${name}`, 'must be a moment');
  return at;
}

function boundedLimit(given: number | undefined, standard: number, most: number): number {
  const limit = given ?? standard;
  if (limit > most) throw invalidMember('/limit', `must be at most ${most}`, 'limit_exceeded');
  return limit;
}

export function getExecutionRunHistory(
  dependencies: ExecutionDependencies,
): Handler<'getExecutionRunHistory'> {
  const { runtime } = dependencies;
  return async ({ params: { runId }, query }, { caller }) => {
    const { historyLimitDefault, historyLimitMax } = runtime.options;
    const limit = boundedLimit(query.limit, historyLimitDefault, historyLimitMax);
    const run = await readable(dependencies, caller, runId);
    // One entry more than asked for shows whether another page follows.
    const read = await readTrace(runtime, run, limit + 1, query.afterSequenceId ?? null);
    const wanted = read.slice(0, limit);
    const entries = traceWithinAnswer(wanted);
    const last = read.length > entries.length ? entries.at(-1) : undefined;
    const headers = listHeaders(`/execution/runs/${encodeURIComponent(runId)}/history`, query, {
      next: last === undefined ? null : { afterSequenceId: last.sequenceId },
      cut: entries.length < wanted.length,
    });
    return { status: 200, body: entries.map((entry) => wireTrace(runtime, run, entry)), headers };
  };
}
