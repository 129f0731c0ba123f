import { INLINE_BYTES_MAX, type StagedPayloads } from '../../../collections/staged-payloads.ts';
import type { JobRequest, Jobs, StagedPayload } from '../../../jobs/admit-job.ts';
import type { JobContext } from '../../../jobs/job-plugin.ts';
import { cancelJob, type JobPlace } from '../../../jobs/read-jobs.ts';
import { canonicalJson, type Json, type JsonObject, sha256 } from '../../../kernel/canonical-json.ts';
import { invalidMember, ServiceError } from '../../../kernel/errors.ts';
import type { Full } from '../../../kernel/full.ts';
import { isCancelled } from '../../../runs/cancellation.ts';
import { isRunFailure } from '../../../runs/plugin.ts';
import type { Run } from '../../../runs/run.ts';

/** Tag of a run whose payload is staged. Upkeep finds the run by it. */
export const PAYLOAD_TAG = 'svc.record-import.payload';

/** What a run has of a staged text. */
export interface StagedText {
  /** The reference. */
  readonly staged?: string;
  readonly textHash?: string;
}

/**
 * What a job keeps of its whole request: the request itself, or where that is too large for a run the reference of its staged
 * text. `what` names the payload in the refusal of one that exceeds the setting.
 */
export function requestPayload(
  payloads: StagedPayloads,
  space: string,
  request: object,
  what: string,
): Pick<JobRequest, 'payload' | 'payloadHash' | 'stage'> {
  const text = canonicalJson(request);
  const bytes = Buffer.byteLength(text);
  if (bytes > payloads.payloadBytesMax) {
    const detail = `${what} cannot exceed ${payloads.payloadBytesMax} bytes`;
    throw invalidMember('', detail, 'limit_exceeded');
  }
  const payloadHash = sha256(text);
  if (bytes <= INLINE_BYTES_MAX) return { payload: request as Json, payloadHash };
  return { payload: {}, payloadHash, stage: () => stageText(payloads, space, {}, text) };
}

/** The reference that the payload of a run holds; without members where the payload is the request itself. */
export function stagedIn(payload: Json): StagedText {
  return typeof payload === 'object' && payload !== null && 'staged' in payload ? payload : {};
}

/** The request that `requestPayload` has kept. Throws as `readStagedText` does. */
export async function requestOf(payloads: StagedPayloads, payload: Json): Promise<Json> {
  const reference = stagedIn(payload);
  if (reference.staged === undefined) return payload;
  return JSON.parse(await readStagedText(payloads, reference)) as Json;
}

/** Cancels a queued job at once, and asks a running one to stop. Throws `not_found` for a job that the space does not have. */
export async function cancelStagedJob(
  { jobs, payloads }: { readonly jobs: Jobs; readonly payloads: StagedPayloads },
  place: JobPlace,
  jobId: string,
  now: number,
): Promise<Run> {
  const run = await cancelJob(jobs, place, jobId, now);
  const staged = run.tags[PAYLOAD_TAG];
  // No handler will remove the payload of a job that ended while it waited.
  if (staged !== undefined && (run.status === 'cancelled' || run.status === 'failed'))
    await payloads.discard(place.space, staged);
  return run;
}

/** Stages the text of a request beside what is known of it; `Full` where the space has staged too much already. */
export async function stageText(
  payloads: StagedPayloads,
  space: string,
  known: JsonObject,
  text: string,
): Promise<StagedPayload | Full> {
  const reference = await payloads.stage(space, text);
  if (typeof reference !== 'string') return reference;
  return {
    payload: { ...known, staged: reference, textHash: sha256(text) },
    tags: { [PAYLOAD_TAG]: reference },
    discard: () => payloads.discard(space, reference),
  };
}

/** Throws `not_found` for a text that upkeep has removed, and `content_hash_mismatch` for another text. */
export async function readStagedText(
  payloads: StagedPayloads,
  { staged, textHash }: StagedText,
): Promise<string> {
  const text = await payloads.read(staged ?? '');
  if (textHash !== undefined && sha256(text) !== textHash)
    throw new ServiceError('content_hash_mismatch', 'The staged payload is not what the request held.');
  return text;
}

/**
 * Calls `discard` where a job of one attempt ends with this error or with its cancellation: no attempt reads the payload again.
 * In doubt, upkeep removes it later.
 */
export async function discardAfter(
  error: unknown,
  context: Pick<JobContext, 'signal' | 'report'>,
  discard: () => Promise<void>,
): Promise<void> {
  const isRefused = error instanceof ServiceError && !error.code.startsWith('lease_');
  const isEnd = isRefused || isRunFailure(error);
  if (isCancelled(context.signal) || (isEnd && (await hasRun(context)))) await discard();
}

/** Whether this worker still has the run: another one that has it needs the payload. */
async function hasRun(context: Pick<JobContext, 'report'>): Promise<boolean> {
  try {
    await context.report({});
    return true;
  } catch {
    return false;
  }
}
