import { readBatch } from '../../../collections/batch-upsert.ts';
import { boundTo } from '../../../collections/bound-collections.ts';
import { hashImport, readImport } from '../../../collections/import-request.ts';
import type { Handler } from '../../../http/handler.ts';
import { verifiedCaller } from '../../../identity/verified-caller.ts';
import { accepted, admitJob } from '../../../jobs/admit-job.ts';
import { type JobCall, jobCall, ofCall, type StartInput } from '../../../jobs/job-family.ts';
import { requestText, textPayload } from '../../../jobs/staged-payload.ts';
import { sha256 } from '../../../kernel/canonical-json.ts';
import { inTurns, type Turns } from '../../../kernel/turns.ts';
import type { RunScope } from '../../../runs/run.ts';
import { importJobView } from './import-job-view.ts';
import { BATCH_HANDLER, IMPORT_HANDLER, type RecordJobs, SOURCE_TAG } from './job-facts.ts';

interface RecordJobStart {
  readonly operationId: string;
  readonly kind: 'batch_upsert' | 'collection_import';
  /** Whether the catalog asks for the right to start runs as well. */
  readonly startsAsRun: boolean;
}

interface RecordJobInput extends StartInput {
  readonly params: { readonly collection: string };
  readonly text: () => string;
}

/** Facts of a request after its text was read. */
interface ReadRequest {
  readonly requested: number;
  readonly sourceCollection?: string;
  /** Hash of the content of an import, so that the handler need not compute it again. */
  readonly contentHash?: string;
}

export function upsertRecords(own: RecordJobs): Handler<'upsertRecords'> {
  return startBatch(own, 'upsertRecords', true);
}

export function startRecordBatchUpsertJob(own: RecordJobs): Handler<'startRecordBatchUpsertJob'> {
  return startBatch(own, 'startRecordBatchUpsertJob', false);
}

export function importCollection(own: RecordJobs): Handler<'importCollection'> {
  return startImport(own, 'importCollection', true);
}

export function startCollectionImportJob(own: RecordJobs): Handler<'startCollectionImportJob'> {
  return startImport(own, 'startCollectionImportJob', false);
}

/** Two operations start the same job. In the catalog one of them also needs the right to start runs. */
function startBatch(
  own: RecordJobs,
  operationId: 'upsertRecords' | 'startRecordBatchUpsertJob',
  startsAsRun: boolean,
): Handler<'upsertRecords'> & Handler<'startRecordBatchUpsertJob'> {
  const start = { operationId, kind: 'batch_upsert', startsAsRun } as const;
  return (input, context) =>
    startRecordJob(own, start, input, context, async (text, turns) => ({
      requested: (await inTurns(readBatch(text), turns)).items.length,
    }));
}

/** Starts an import, like `startBatch`. */
function startImport(
  own: RecordJobs,
  operationId: 'importCollection' | 'startCollectionImportJob',
  startsAsRun: boolean,
): Handler<'importCollection'> & Handler<'startCollectionImportJob'> {
  const start = { operationId, kind: 'collection_import', startsAsRun } as const;
  return (input, context) =>
    startRecordJob(own, start, input, context, async (text, turns) => {
      const request = await inTurns(readImport(text, input.params.collection), turns);
      // A replacement removes records, so it needs the right to delete them.
      if (request.replaceExisting) own.access.spaceOf(context.caller, 'delete', input.query.tenantId);
      const { contentHash } = await hashImport(request, turns);
      const { sourceCollection, records } = request;
      return { requested: records.length, sourceCollection, contentHash };
    });
}

/**
 * Starts a batch or an import. Stages a text that is too large for a run. Throws `permission_denied` before `read` checks the text, so
 * that a caller without the right learns nothing from those checks.
 */
async function startRecordJob(
  own: RecordJobs,
  { operationId, kind, startsAsRun }: RecordJobStart,
  input: RecordJobInput,
  context: Pick<JobCall, 'caller' | 'correlationId'>,
  read: (text: string, turns: Turns) => Promise<ReadRequest>,
) {
  const { access, executionAccess, payloads, records } = own;
  const call = jobCall(input, context);
  const { caller, query, idempotencyKey } = call;
  const { collection } = input.params;
  const space = access.spaceOf(caller, 'write', query.tenantId);
  const owned = ofCall(access, call, space);
  const handlerId = kind === 'batch_upsert' ? BATCH_HANDLER : IMPORT_HANDLER;
  if (startsAsRun) executionAccess?.authorizeStart(verifiedCaller(caller), owned.scope, handlerId);
  const turns = records.world.turns.of(space);
  const text = await requestText(payloads, input.text(), 'record import', turns);
  const { requested, sourceCollection, contentHash } = await read(text, turns);
  const known = { collection, ...(contentHash === undefined ? {} : { contentHash }) };
  const admitted = await admitJob(own.jobs, own.plugin, {
    ...owned,
    operationId,
    handlerId,
    subject: collection,
    bind: () => boundTo(records, space, [collection]),
    ...(await textPayload(payloads, space, known, text)),
    requested,
    idempotencyKey: scopedKey(idempotencyKey, owned.scope, handlerId),
    tags: {
      'svc.record-import.kind': kind,
      'svc.collection': collection,
      ...(sourceCollection === undefined ? {} : { [SOURCE_TAG]: sourceCollection }),
    },
  });
  return accepted(admitted, importJobView);
}

/** The key of a job with product and tenant includes both and the handler, as the contract requires. */
function scopedKey(key: string | null, scope: RunScope | null, handlerId: string): string | null {
  if (key === null || scope === null) return key;
  const { productId, tenantId } = scope;
  return `scope:${sha256([productId, tenantId, handlerId, key].join('\n')).slice('sha256:'.length)}`;
}
