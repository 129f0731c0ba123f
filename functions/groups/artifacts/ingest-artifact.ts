import { boundTo } from '../../collections/bound-collections.ts';
import { collectionMissing, readCollection } from '../../collections/read-policy.ts';
import { readRecordInSteps } from '../../collections/rules/record-text.ts';
import type { ByteBody } from '../../http/byte-body.ts';
import type { CallContext, GroupHandlers } from '../../http/handler.ts';
import { TICKET_TAG } from '../../jobs/active-run.ts';
import {
  type AdmittedJob,
  admitJob,
  findJob,
  isJobKeyUsed,
  type JobRequest,
  type StagedPayload,
} from '../../jobs/admit-job.ts';
import { jobCall, ofCall } from '../../jobs/job-family.ts';
import { canonicalJson, type Json, sha256 } from '../../kernel/canonical-json.ts';
import { invalidMember, ServiceError } from '../../kernel/errors.ts';
import { compactJson, membersOf } from '../../kernel/json-slices.ts';
import { inTurns } from '../../kernel/turns.ts';
import type { ByteLease } from '../../objects/object-memory.ts';
import { type ReceivedBytes, receiveBytes } from '../../objects/receive-bytes.ts';
import { type ArtifactManifest, readManifest } from '../../objects/rules/artifact-manifest.ts';
import { readMediaType } from '../../objects/rules/media-type.ts';
import { type StagedArtifact, stageArtifact } from '../../objects/stage-artifact.ts';
import { OBJECT_INLINE_BYTES_MAX } from '../../objects/stored-object.ts';
import { acceptedRun } from '../execution/library/accepted-run.ts';
import { INGEST_HANDLER } from './artifact-jobs.ts';
import type { ArtifactsDependencies } from './dependencies.ts';
import type { ArtifactRequest } from './run-artifact-job.ts';

type Handlers = GroupHandlers<'artifacts'>;

const ofOperation = { operationId: 'ingestRecordArtifact', handlerId: INGEST_HANDLER, requested: 1 } as const;

/**
 * Reads the manifest, then the bytes, which count as held until the answer, then admits one run. A faulty manifest is refused before
 * the bytes are read. The repeat of an admitted request gets the first answer, even if its proof has expired or its collection was
 * deleted since; the key is looked up only after such a refusal.
 */
export function ingestRecordArtifact(dependencies: ArtifactsDependencies): Handlers['ingestRecordArtifact'] {
  const { objects, access, jobs, plugin } = dependencies;
  return async (input, context) => {
    const { query, body, text } = input;
    const { caller } = context;
    const space = access.spaceOf(caller, 'write', query.tenantId);
    const owned = ofCall(access, jobCall(input, context), space);
    const manifest = readManifest(body.manifest, manifestText(text()), '/manifest');
    const { externalContextVerified, refusal } = await judged(dependencies, space, manifest, context.now);
    const job = { ...owned, ...ofOperation, subject: manifest.collection };
    if (refusal !== null && !(await isJobKeyUsed(jobs, plugin, job))) throw refusal;
    const contentType = manifest.contentType ?? readMediaType(body.artifact.mediaType, '/artifact');
    const lease = objects.bytes.lease(space);
    try {
      const received = await receiveArtifact(dependencies, body.artifact, context, lease);
      const request = requestOf({ ...manifest, contentType }, received, externalContextVerified);
      const admitted =
        refusal === null
          ? await admit(dependencies, job, request, received)
          : await findJob(jobs, plugin, { ...job, ...asked(request) });
      if (admitted === null) throw refusal;
      return await acceptedRun(dependencies, caller, admitted);
    } finally {
      lease.release();
    }
  };
}

/** The manifest in the text of the form's JSON parts. */
function manifestText(form: string): string {
  return membersOf(compactJson(form)).find(({ name }) => name === 'manifest')?.value ?? '{}';
}

/** Checks proof and collection, and returns a refusal instead of throwing it: the same request may have been admitted earlier. */
async function judged(
  dependencies: ArtifactsDependencies,
  space: string,
  manifest: ArtifactManifest,
  now: number,
): Promise<{ readonly externalContextVerified: boolean; readonly refusal: ServiceError | null }> {
  try {
    const externalContextVerified = isVerified(dependencies, manifest, now);
    await checkRecord(dependencies, space, manifest);
    return { externalContextVerified, refusal: null };
  } catch (error) {
    if (error instanceof ServiceError) return { externalContextVerified: false, refusal: error };
    throw error;
  }
}

function isVerified(
  { externalContext: { verify, isRequired } }: ArtifactsDependencies,
  { token }: ArtifactManifest,
  now: number,
): boolean {
  const pointer = '/manifest/externalContext';
  if (token === null) {
    if (isRequired) throw invalidMember(pointer, 'is missing: the service asks for a proof of the context');
    return false;
  }
  if (verify === null) throw invalidMember(pointer, 'cannot be verified: the service has no keys for it');
  verify(token, `${pointer}/token`, now);
  return true;
}

/** Checks the record by the policy. The run checks again, because the policy may change. */
async function checkRecord(
  { objects: { records } }: ArtifactsDependencies,
  space: string,
  { collection, recordText }: ArtifactManifest,
): Promise<void> {
  const found = await readCollection(records, space, collection);
  if (found === null) throw collectionMissing(collection);
  const turns = records.world.turns.of(space);
  await inTurns(readRecordInSteps(recordText, found.policy, '/manifest/record'), turns);
}

async function receiveArtifact(
  { objects: { limits } }: ArtifactsDependencies,
  body: ByteBody,
  { header }: CallContext,
  lease: ByteLease,
): Promise<ReceivedBytes> {
  // The artifact has at most as many bytes as the form.
  const declared = header?.('content-length');
  const roomBytes = declared === undefined ? null : Number(declared);
  const bytesMax = limits.artifactBytesMax;
  const tooLarge = invalidMember('/artifact', `must have at most ${bytesMax} bytes`, 'limit_exceeded');
  const received = await receiveBytes({ body, roomBytes, bytesMax, tooLarge, lease });
  if (received.bytes.byteLength === 0) throw invalidMember('/artifact', 'must not be empty');
  return received;
}

function requestOf(
  { collection, recordText, place, contentType, metadata }: ArtifactManifest,
  { bytes, contentHash }: ReceivedBytes,
  externalContextVerified: boolean,
): ArtifactRequest {
  return {
    collection,
    record: recordText,
    artifact: { ...place, contentType, metadata },
    contentHash,
    contentLength: bytes.byteLength,
    externalContextVerified,
  };
}

/** The parts that must be equal in all requests under one key. The proof is not one of them: a retry may carry a newer token. */
function asked(request: ArtifactRequest): { readonly payload: Json; readonly payloadHash: string } {
  const { externalContextVerified: _, ...intent } = request;
  const payload = request as unknown as Json;
  return { payload, payloadHash: sha256(canonicalJson(intent)) };
}

/** Stores small bytes in the payload of the run. Stages larger bytes, but only if no earlier request has the key. */
async function admit(
  { objects, jobs, plugin }: ArtifactsDependencies,
  job: Omit<JobRequest, 'payload'>,
  request: ArtifactRequest,
  { bytes }: ReceivedBytes,
): Promise<AdmittedJob> {
  const isSmall = bytes.byteLength <= OBJECT_INLINE_BYTES_MAX;
  const stage = async () => staged(request, await stageArtifact(objects, job.space, bytes));
  const inPayload = isSmall ? await stage() : null;
  const { payload, payloadHash } = asked(request);
  return admitJob(jobs, plugin, {
    ...job,
    bind: () => boundTo(objects.records, job.space, [request.collection]),
    payload: inPayload?.payload ?? payload,
    payloadHash,
    ...(inPayload === null ? { stage } : { tags: inPayload.tags }),
  });
}

function staged(request: ArtifactRequest, { ticket, inline, discard }: StagedArtifact): StagedPayload {
  const content = inline === null ? null : Buffer.from(inline).toString('base64');
  const payload = { ...request, ticket, inline: content } as unknown as Json;
  return { payload, tags: { [TICKET_TAG]: ticket }, discard };
}
