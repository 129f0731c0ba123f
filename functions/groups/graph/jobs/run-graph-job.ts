import type {
  SvcGraphCollectionImportRequest,
  SvcGraphCollectionInspectionRequest,
  SvcGraphDoctorRequest,
} from '../../../../contracts/generated/models.ts';
import { examineGraph } from '../../../graph/examine-graph.ts';
import { type GraphImportResult, importGraph } from '../../../graph/import-graph.ts';
import { type GraphInspection, inspectCollectionGraph } from '../../../graph/inspect-collection-graph.ts';
import { readEnvelope } from '../../../graph/rules/read-envelope.ts';
import type { JobLayers } from '../../../jobs/job-family.ts';
import type { JobContext } from '../../../jobs/job-plugin.ts';
import { keepResult } from '../../../jobs/kept-result.ts';
import { loadReports } from '../../../jobs/load-reports.ts';
import { orderedContent } from '../../../jobs/ordered-content.ts';
import { type TextPayload, textOf, withStaged } from '../../../jobs/staged-payload.ts';
import type { Json } from '../../../kernel/canonical-json.ts';
import { parseJson } from '../../../kernel/json-text.ts';
import { formatUtc } from '../../../kernel/timestamp.ts';
import { inTurns } from '../../../kernel/turns.ts';
import { doctorResult, inspectionResult } from '../graph-results.ts';
import { envelopeIn, importOptions } from '../import-options.ts';
import {
  detailsOf,
  type GraphJobFacts,
  type GraphJobKind,
  IMPORTED,
  importedResult,
  kindOf,
} from './job-view.ts';

const RESULT_ARTIFACTS: Readonly<Record<GraphJobKind, string>> = {
  import: 'graph-import-result',
  inspect: 'graph-inspection-result',
  doctor: 'graph-doctor-result',
};

interface Done {
  readonly result: Json;
  readonly facts: GraphJobFacts;
  readonly counts: { readonly requested: number; readonly attempted: number; readonly succeeded: number };
  readonly stoppedOnError?: boolean;
}

/** Executes a job. An import continues the work of earlier executions; other jobs begin again. */
export function runGraphJob(parts: JobLayers, context: JobContext): Promise<Json> {
  const kind = kindOf(context);
  const { resultBytesMax, payloads } = parts;
  const otherwise = kind === 'import' ? 'remade' : 'refused';
  return withStaged(payloads, context, {
    work: async () => {
      const { result, facts, counts, stoppedOnError = false } = await work(parts, context, kind);
      const held = await keepResult(context, RESULT_ARTIFACTS[kind], result, { resultBytesMax, otherwise });
      await context.report({
        ...counts,
        failed: counts.attempted - counts.succeeded,
        progress: 1,
        statusDetails: { ...detailsOf(facts), stoppedOnError },
      });
      return held;
    },
  });
}

async function work(parts: JobLayers, context: JobContext, kind: GraphJobKind): Promise<Done> {
  if (kind === 'import') return runImport(parts, context);
  const { collection } = context.payload as unknown as TextPayload;
  const { space } = context.job;
  const request = parseJson(
    await textOf(parts.payloads, context.payload as unknown as TextPayload),
  ) as object;
  await context.report({ requested: 1, attempted: 0, succeeded: 0, failed: 0, progress: 0 });
  const now = () => formatUtc(parts.records.world.clock.now());
  const call = { signal: context.signal };
  if (kind === 'inspect') {
    const asked = request as SvcGraphCollectionInspectionRequest;
    const inspected = await inspectCollectionGraph(parts.records, space, collection, asked, call);
    return examined(inspectionResult(inspected, now()), inspected);
  }
  const asked = request as SvcGraphDoctorRequest;
  const found = await examineGraph(parts.records, space, collection, asked, call);
  return examined(doctorResult(found, now()), found.inspection);
}

function examined(result: object, inspection: GraphInspection): Done {
  const facts: GraphJobFacts = { ...inspection, errorCount: 0 };
  return { result: result as Json, facts, counts: { requested: 1, attempted: 1, succeeded: 1 } };
}

async function runImport(parts: JobLayers, context: JobContext): Promise<Done> {
  const { collection } = context.payload as unknown as TextPayload;
  const { space } = context.job;
  const place = { runId: context.runId, space, collection };
  // An earlier execution that finished the work has removed the staged payload.
  const done = (await context.readCheckpoint(IMPORTED))?.content;
  const earlier = done === undefined ? null : await importedResult(parts.records, place, done);
  if (earlier !== null) return imported(earlier as unknown as GraphImportResult);
  const { clock, turns } = parts.records.world;
  const result = await importGraph(parts.records, {
    ...place,
    request: async () => {
      const request = parseJson(
        await textOf(parts.payloads, context.payload as unknown as TextPayload),
      ) as SvcGraphCollectionImportRequest;
      const continueOnError = request.continueOnError ?? false;
      return {
        ...importOptions(request),
        continueOnError,
        envelope: await inTurns(readEnvelope(envelopeIn(request), '/envelope'), turns.of(space)),
      };
    },
    signal: context.signal,
    decide: () => context.decide(),
    progress: loadReports(clock, context),
    // The caller may have lost the right since the admission.
    judgeReplacement: () => {
      parts.access.judgeRecordJob({ caller: context.job.caller, space, operation: 'delete' });
    },
  });
  const { records: _, ...known } = result;
  await context.writeCheckpoint(IMPORTED, orderedContent(known));
  return imported(result);
}

const WARNED: ReadonlySet<string> = new Set(['replaced', 'existing_non_graph_policy_allowed']);

function imported(result: GraphImportResult): Done {
  const { records, policyStatus } = result;
  const { requested, attempted, succeeded, failed, stoppedOnError } = records;
  const warningCount = WARNED.has(policyStatus) ? 1 : 0;
  const facts = { ...result, warningCount, errorCount: failed, anomalyCount: 0 };
  const counts = { requested, attempted, succeeded };
  return { result: result as unknown as Json, facts, counts, stoppedOnError };
}
