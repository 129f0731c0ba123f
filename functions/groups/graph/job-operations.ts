import type {
  SvcGraphCollectionImportRequest,
  SvcGraphCollectionInspectionRequest,
  SvcGraphDoctorRequest,
} from '../../../contracts/generated/models.ts';
import { readExamination } from '../../graph/examine-graph.ts';
import type { GraphChoice } from '../../graph/graph-query.ts';
import { readAnomalyLimit } from '../../graph/inspect-collection-graph.ts';
import { readMaxRecords } from '../../graph/read-graph.ts';
import { readEnvelope, recordCountOf } from '../../graph/rules/read-envelope.ts';
import { partitionOf } from '../../graph/rules/read-scope.ts';
import type { CallContext, GroupHandlers, Handler } from '../../http/handler.ts';
import { listHeaders } from '../../http/list-headers.ts';
import { mayRead } from '../../identity/record-access.ts';
import { withoutDetails } from '../../jobs/job-view.ts';
import { getJob, listJobs } from '../../jobs/read-jobs.ts';
import { checkText } from '../../kernel/identifiers.ts';
import { inTurns, type Turns } from '../../kernel/turns.ts';
import { bytesOfAttempts, jobsWithResults } from '../records/library/kept-result.ts';
import { cancelStagedJob } from '../records/library/staged-payload.ts';
import type { GraphDependencies } from './dependencies.ts';
import { checkedEnvelope } from './import-options.ts';
import { admitGraphJob, type CheckedJob, type GraphJobRequest } from './jobs/admit-graph-job.ts';
import { graphJobView, graphResults } from './jobs/job-view.ts';

type Handlers = GroupHandlers<'graph'>;

const LIST_LIMIT_DEFAULT = 50;
const PATH = '/graph/jobs';

export function importGraphEnvelope(dependencies: GraphDependencies): Handlers['importGraphEnvelope'] {
  return startImport(dependencies, 'importGraphEnvelope');
}

export function startGraphImportJob(dependencies: GraphDependencies): Handlers['startGraphImportJob'] {
  return startImport(dependencies, 'startGraphImportJob');
}

type ImportOperation = 'importGraphEnvelope' | 'startGraphImportJob';

/** Both operations start the same job. */
function startImport(
  { graphJobs, records }: GraphDependencies,
  operationId: ImportOperation,
): Handler<'importGraphEnvelope'> & Handler<'startGraphImportJob'> {
  return async ({ params, query, body, text, idempotencyKey }, { caller, correlationId }) => {
    const check = () => {
      // A replacement removes records, so it needs the right to delete them.
      if (body.replaceExisting === true) graphJobs.access.spaceOf(caller, 'delete', query.tenantId);
      const space = graphJobs.access.spaceOf(caller, 'write', query.tenantId);
      return importFacts(body, records.world.turns.of(space));
    };
    const start = { operationId, kind: 'import', caller, query, check } as const;
    const given = { collection: params.collection, text: text(), idempotencyKey, correlationId };
    return admitted(graphJobs, { ...start, ...given });
  };
}

async function importFacts(body: SvcGraphCollectionImportRequest, turns: Turns): Promise<CheckedJob> {
  const { scope, ...envelope } = await inTurns(readEnvelope(checkedEnvelope(body), '/envelope'), turns);
  const recordCount = recordCountOf(envelope);
  return {
    requested: recordCount,
    facts: {
      graphId: scope.graphId,
      partitionKey: partitionOf(scope),
      recordCount,
      nodeCount: envelope.nodes.length,
      edgeCount: envelope.edges.length,
      assertionCount: envelope.assertions.length,
      reviewCount: envelope.reviews.length,
      projectionCount: envelope.projections.length,
    },
  };
}

export function startGraphInspectionJob({
  graphJobs,
}: GraphDependencies): Handlers['startGraphInspectionJob'] {
  return async ({ params, query, body, text, idempotencyKey }, { caller, correlationId }) => {
    const check = () => inspectionFacts(body);
    const start = { operationId: 'startGraphInspectionJob', kind: 'inspect', caller, query, check } as const;
    const given = { collection: params.collection, text: text(), idempotencyKey, correlationId };
    return admitted(graphJobs, { ...start, ...given });
  };
}

function inspectionFacts(body: SvcGraphCollectionInspectionRequest) {
  readMaxRecords(body.maxRecords);
  readAnomalyLimit(body.anomalyLimit);
  return choiceFacts(body);
}

export function startGraphDoctorJob({ graphJobs }: GraphDependencies): Handlers['startGraphDoctorJob'] {
  return async ({ params, query, body, text, idempotencyKey }, { caller, correlationId }) => {
    const check = () => doctorFacts(body);
    const start = { operationId: 'startGraphDoctorJob', kind: 'doctor', caller, query, check } as const;
    const given = { collection: params.collection, text: text(), idempotencyKey, correlationId };
    return admitted(graphJobs, { ...start, ...given });
  };
}

function doctorFacts(body: SvcGraphDoctorRequest): CheckedJob {
  const { target } = readExamination(body);
  return { ...choiceFacts(body), ...(target === null ? {} : { target: target.name }) };
}

function choiceFacts({ graphId = null, partitionKey = null }: GraphChoice) {
  // The tags of the job, by which runs are listed.
  for (const [name, value] of Object.entries({ graphId, partitionKey })) checkText(value ?? '', `/${name}`);
  return { requested: 1, facts: { graphId, partitionKey } };
}

async function admitted(graphJobs: GraphDependencies['graphJobs'], request: GraphJobRequest) {
  const { run, replayed, headers } = await admitGraphJob(graphJobs, request);
  const shown = mayRead(graphJobs.access, request.caller) ? run : withoutDetails(run);
  return { status: 202 as const, body: graphJobView(shown, null, replayed), headers };
}

export function listGraphJobs({
  graphJobs,
  records,
  pageTokens,
}: GraphDependencies): Handlers['listGraphJobs'] {
  const { jobs, plugin, access } = graphJobs;
  return async ({ query }, context) => {
    const space = access.spaceOf(context.caller, 'read');
    const { limit = LIST_LIMIT_DEFAULT, includeResult = false, continuationToken } = query;
    const of = { list: 'graph-jobs', space };
    const after = await pageTokens.read(of, continuationToken);
    const request = { plugin, space, subject: null, limit, after, includeResult };
    const bytes = bytesOfAttempts(resultBytes(context));
    const found = includeResult
      ? await jobsWithResults(
          jobs,
          request,
          () => true,
          (runs) => graphResults(jobs, records, runs, bytes()),
        )
      : { ...(await listJobs(jobs, request)), results: [] };
    const body = found.jobs.map((run, index) => graphJobView(run, found.results[index] ?? null));
    const token = await pageTokens.issue(of, found.next);
    const { continuationToken: _, ...same } = query;
    const next = token === null ? null : { continuationToken: token };
    return { status: 200, body, headers: listHeaders(PATH, same, { next, cut: body.length < limit }) };
  };
}

export function getGraphJob({ graphJobs, records }: GraphDependencies): Handlers['getGraphJob'] {
  const { jobs, plugin, access } = graphJobs;
  return async ({ params: { jobId } }, { caller, ...context }) => {
    const run = await getJob(jobs, { plugin, space: access.spaceOf(caller, 'read') }, jobId);
    const [result = null] = await graphResults(jobs, records, [run], resultBytes(context));
    return { status: 200, body: graphJobView(run, result) };
  };
}

export function cancelGraphJob({ graphJobs, records }: GraphDependencies): Handlers['cancelGraphJob'] {
  return async ({ params: { jobId } }, { caller, now, ...context }) => {
    const space = graphJobs.access.spaceOf(caller, 'delete');
    const run = await cancelStagedJob(graphJobs, { plugin: graphJobs.plugin, space }, jobId, now);
    if (!mayRead(graphJobs.access, caller)) return { status: 200, body: graphJobView(withoutDetails(run)) };
    const [result = null] = await graphResults(graphJobs.jobs, records, [run], resultBytes(context));
    return { status: 200, body: graphJobView(run, result) };
  };
}

function resultBytes({ hold = uncounted, grow = uncounted }: Pick<CallContext, 'hold' | 'grow'>) {
  return { hold, grow };
}

const uncounted = (): void => undefined;
