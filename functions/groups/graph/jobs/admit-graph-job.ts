import type {
  SvcGraphCollectionImportRequest,
  SvcGraphCollectionInspectionRequest,
  SvcGraphDoctorRequest,
} from '../../../../contracts/generated/models.ts';
import { boundTo } from '../../../collections/bound-collections.ts';
import type { GraphChoice } from '../../../graph/graph-query.ts';
import { readAnomalyLimit, readExamination, readMaxRecords } from '../../../graph/read-examination.ts';
import { readEnvelope, recordCountOf } from '../../../graph/rules/read-envelope.ts';
import { partitionOf } from '../../../graph/rules/read-scope.ts';
import type { CallContext, GroupHandlers, OperationInput } from '../../../http/handler.ts';
import { mayRead } from '../../../identity/record-access.ts';
import { accepted, admitJob } from '../../../jobs/admit-job.ts';
import { type CollectionCall, collectionCall, type JobFamily, ofCall } from '../../../jobs/job-family.ts';
import { requestText, textPayload } from '../../../jobs/staged-payload.ts';
import { checkText } from '../../../kernel/identifiers.ts';
import { inTurns, type Turns } from '../../../kernel/turns.ts';
import { checkedEnvelope } from '../import-options.ts';
import { GRAPH_HANDLERS } from './graph-jobs.ts';
import { GRAPH_KIND_TAG, type GraphJobFacts, type GraphJobKind, graphJobView, tagsOf } from './job-view.ts';

type Handlers = GroupHandlers<'graph'>;
type ImportId = 'importGraphEnvelope' | 'startGraphImportJob';

interface CheckedJob {
  readonly requested: number;
  readonly facts: Partial<GraphJobFacts>;
  /** A second collection that the job reads. */
  readonly target?: string;
}

export function importGraphEnvelope(family: JobFamily): Handlers['importGraphEnvelope'] {
  return (input, context) => startImport(family, 'importGraphEnvelope', input, context);
}

export function startGraphImportJob(family: JobFamily): Handlers['startGraphImportJob'] {
  return (input, context) => startImport(family, 'startGraphImportJob', input, context);
}

/** Both operations start the same job. */
function startImport(
  family: JobFamily,
  operationId: ImportId,
  input: OperationInput<ImportId>,
  context: CallContext,
) {
  const { access, records } = family;
  const { body, query } = input;
  return admitted(family, collectionCall(operationId, input, context), 'import', (space) => {
    // A replacement removes records, so it needs the right to delete them.
    if (body.replaceExisting === true) access.spaceOf(context.caller, 'delete', query.tenantId);
    return importFacts(body, records.world.turns.of(space));
  });
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

export function startGraphInspectionJob(family: JobFamily): Handlers['startGraphInspectionJob'] {
  return async (input, context) => {
    const call = collectionCall('startGraphInspectionJob', input, context);
    return admitted(family, call, 'inspect', () => inspectionFacts(input.body));
  };
}

function inspectionFacts(body: SvcGraphCollectionInspectionRequest) {
  readMaxRecords(body.maxRecords);
  readAnomalyLimit(body.anomalyLimit);
  return choiceFacts(body);
}

export function startGraphDoctorJob(family: JobFamily): Handlers['startGraphDoctorJob'] {
  return async (input, context) => {
    const call = collectionCall('startGraphDoctorJob', input, context);
    return admitted(family, call, 'doctor', () => doctorFacts(input.body));
  };
}

function doctorFacts(body: SvcGraphDoctorRequest): CheckedJob {
  const { target } = readExamination(body);
  return { ...choiceFacts(body), ...(target === null ? {} : { target: target.name }) };
}

function choiceFacts({ graphId = null, partitionKey = null }: GraphChoice) {
  // These become tags of the run, so they must be valid there.
  for (const [name, value] of Object.entries({ graphId, partitionKey })) checkText(value ?? '', `/${name}`);
  return { requested: 1, facts: { graphId, partitionKey } };
}

/**
 * Admits a job. Stages a request that is too large for a run. Throws `permission_denied` before `check` validates the request and
 * returns the facts of its graph.
 */
async function admitted(
  family: JobFamily,
  call: CollectionCall,
  kind: GraphJobKind,
  check: (space: string) => CheckedJob | Promise<CheckedJob>,
) {
  const { records, jobs, plugin, payloads, access } = family;
  const { caller, query, collection, operationId } = call;
  const space = access.spaceOf(caller, 'write', query.tenantId);
  const { requested, facts, target } = await check(space);
  const text = await requestText(payloads, call.text, 'graph', records.world.turns.of(space));
  const job = await admitJob(jobs, plugin, {
    ...ofCall(access, call, space),
    operationId,
    handlerId: GRAPH_HANDLERS[kind],
    subject: collection,
    bind: () => boundTo(records, space, target === undefined ? [collection] : [collection, target]),
    ...(await textPayload(payloads, space, { collection }, text)),
    requested,
    tags: { [GRAPH_KIND_TAG]: kind, 'svc.collection': collection, ...tagsOf(facts) },
  });
  return accepted(job, graphJobView, mayRead(access, caller));
}
