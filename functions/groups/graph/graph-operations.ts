import { readCollection } from '../../collections/read-policy.ts';
import { examineGraph } from '../../graph/examine-graph.ts';
import { inspectCollectionGraph } from '../../graph/inspect-collection-graph.ts';
import { exportGraph } from '../../graph/read-graph.ts';
import { preflightImport } from '../../graph/rules/preflight.ts';
import type { GroupHandlers } from '../../http/handler.ts';
import type { JobLayers } from '../../jobs/job-family.ts';
import { jsonInTurns } from '../../kernel/json-in-turns.ts';
import { JsonText } from '../../kernel/json-value-text.ts';
import { formatUtc } from '../../kernel/timestamp.ts';
import { inTurns } from '../../kernel/turns.ts';
import { doctorResult, inspectionResult } from './graph-results.ts';
import { checkElements, checkedEnvelope, importOptions } from './import-options.ts';

type Handlers = GroupHandlers<'graph'>;

/** An element of a list of the envelope is three levels below the answer. */
const ELEMENTS_DEPTH = 3;

export function exportGraphEnvelope({
  records,
  access,
}: Pick<JobLayers, 'records' | 'access'>): Handlers['exportGraphEnvelope'] {
  return async ({ params, body }, context) => {
    const space = access.spaceOf(context.caller, 'read');
    const exported = await exportGraph(records, space, params.collection, body, context);
    const { collection, envelope, recordCount, truncated, continuationToken } = exported;
    const exportedAt = formatUtc(context.now);
    const answer = {
      collection: collection.name,
      envelope,
      recordCount,
      truncated,
      continuationToken,
      exportedAt,
    };
    const text = await jsonInTurns(answer, ELEMENTS_DEPTH, records.world.turns.of(space));
    return { status: 200, body: new JsonText(text) };
  };
}

export function inspectGraphCollection({
  records,
  access,
}: Pick<JobLayers, 'records' | 'access'>): Handlers['inspectGraphCollection'] {
  return async ({ params, body }, context) => {
    const space = access.spaceOf(context.caller, 'read');
    const inspected = await inspectCollectionGraph(records, space, params.collection, body, context);
    return { status: 200, body: inspectionResult(inspected, formatUtc(context.now)) };
  };
}

export function doctorGraphCollection({
  records,
  access,
}: Pick<JobLayers, 'records' | 'access'>): Handlers['doctorGraphCollection'] {
  return async ({ params, body }, context) => {
    const space = access.spaceOf(context.caller, 'read');
    const examined = await examineGraph(records, space, params.collection, body, context);
    return { status: 200, body: doctorResult(examined, formatUtc(context.now)) };
  };
}

export function preflightGraphImport({
  records,
  access,
}: Pick<JobLayers, 'records' | 'access'>): Handlers['preflightGraphImport'] {
  return async ({ params, body }, { caller, now }) => {
    const space = access.spaceOf(caller, 'read');
    const existing = await readCollection(records, space, params.collection);
    const envelope = checkedEnvelope(body);
    const turns = records.world.turns.of(space);
    await inTurns(checkElements(body), turns);
    const policy = existing?.policy ?? null;
    const steps = preflightImport(envelope, importOptions(body), params.collection, policy);
    const found = await inTurns(steps, turns);
    return { status: 200, body: { ...found, generatedAt: formatUtc(now) } };
  };
}
