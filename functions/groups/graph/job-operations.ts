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
import type { GroupHandlers, Handler } from '../../http/handler.ts';
import { mayRead } from '../../identity/record-access.ts';
import type { JobFamily } from '../../jobs/job-family.ts';
import { withoutDetails } from '../../jobs/job-view.ts';
import { checkText } from '../../kernel/identifiers.ts';
import { inTurns, type Turns } from '../../kernel/turns.ts';
import { checkedEnvelope } from './import-options.ts';
import { admitGraphJob, type CheckedJob, type GraphJobRequest } from './jobs/admit-graph-job.ts';
import { graphJobView } from './jobs/job-view.ts';

type Handlers = GroupHandlers<'graph'>;

export function importGraphEnvelope(family: JobFamily): Handlers['importGraphEnvelope'] {
  return startImport(family, 'importGraphEnvelope');
}

export function startGraphImportJob(family: JobFamily): Handlers['startGraphImportJob'] {
  return startImport(family, 'startGraphImportJob');
}

type ImportOperation = 'importGraphEnvelope' | 'startGraphImportJob';

/** Both operations start the same job. */
function startImport(
  family: JobFamily,
  operationId: ImportOperation,
): Handler<'importGraphEnvelope'> & Handler<'startGraphImportJob'> {
  const { access, records } = family;
  return async ({ params, query, body, text, idempotencyKey }, { caller, correlationId }) => {
    const check = () => {
      // A replacement removes records, so it needs the right to delete them.
      if (body.replaceExisting === true) access.spaceOf(caller, 'delete', query.tenantId);
      const space = access.spaceOf(caller, 'write', query.tenantId);
      return importFacts(body, records.world.turns.of(space));
    };
    const start = { operationId, kind: 'import', caller, query, check } as const;
    const given = { collection: params.collection, text: text(), idempotencyKey, correlationId };
    return admitted(family, { ...start, ...given });
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

export function startGraphInspectionJob(family: JobFamily): Handlers['startGraphInspectionJob'] {
  return async ({ params, query, body, text, idempotencyKey }, { caller, correlationId }) => {
    const check = () => inspectionFacts(body);
    const start = { operationId: 'startGraphInspectionJob', kind: 'inspect', caller, query, check } as const;
    const given = { collection: params.collection, text: text(), idempotencyKey, correlationId };
    return admitted(family, { ...start, ...given });
  };
}

function inspectionFacts(body: SvcGraphCollectionInspectionRequest) {
  readMaxRecords(body.maxRecords);
  readAnomalyLimit(body.anomalyLimit);
  return choiceFacts(body);
}

export function startGraphDoctorJob(family: JobFamily): Handlers['startGraphDoctorJob'] {
  return async ({ params, query, body, text, idempotencyKey }, { caller, correlationId }) => {
    const check = () => doctorFacts(body);
    const start = { operationId: 'startGraphDoctorJob', kind: 'doctor', caller, query, check } as const;
    const given = { collection: params.collection, text: text(), idempotencyKey, correlationId };
    return admitted(family, { ...start, ...given });
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

async function admitted(family: JobFamily, request: GraphJobRequest) {
  const { run, replayed, headers } = await admitGraphJob(family, request);
  const shown = mayRead(family.access, request.caller) ? run : withoutDetails(run);
  return { status: 202 as const, body: graphJobView(shown, null, replayed), headers };
}
