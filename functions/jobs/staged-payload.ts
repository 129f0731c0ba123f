import { STAGED_INLINE_BYTES_MAX, type StagedPayloads } from '../collections/staged-payloads.ts';
import { canonicalInSteps } from '../kernel/canonical-in-steps.ts';
import type { Json, JsonObject } from '../kernel/canonical-json.ts';
import { invalidMember, ServiceError } from '../kernel/errors.ts';
import type { Full } from '../kernel/full.ts';
import { compactInSteps } from '../kernel/json-slices.ts';
import { inTurns, sha256InTurns, type Turns } from '../kernel/turns.ts';
import { isCancelled } from '../runs/cancellation.ts';
import { isRunFailure, RunFailure } from '../runs/plugin.ts';
import { PAYLOAD_TAG } from '../runs/run-job.ts';
import type { JobRequest, StagedPayload } from './admit-job.ts';
import type { JobContext } from './job-plugin.ts';

/** The reference to a staged text in the payload of a run. */
export interface StagedText {
  /** Id of the staged text. */
  readonly staged?: string;
  readonly textHash?: string;
}

/** The payload of a job on a collection: the text of the request, or the reference to the staged text. */
export interface TextPayload extends StagedText {
  readonly collection: string;
  readonly request?: string;
}

type KeptPayload = Pick<JobRequest, 'payload' | 'payloadHash' | 'stage'>;

/** The text without white space between its members. `what` names the payload in the message that refuses one which is too large. */
export async function requestText(
  payloads: StagedPayloads,
  text: string,
  what: string,
  turns: Turns,
): Promise<string> {
  return checkedText(payloads, await inTurns(compactInSteps(text), turns), what);
}

/** The payload of a run: `known` members and the text of `requestText`, which is staged if it is too large for a run. */
export async function textPayload(
  payloads: StagedPayloads,
  space: string,
  known: JsonObject & Pick<TextPayload, 'collection'>,
  text: string,
): Promise<KeptPayload> {
  const hashed = `{"collection":${JSON.stringify(known.collection)},"request":${text}}`;
  const payloadHash = await hashOf(hashed);
  if (Buffer.byteLength(text) <= STAGED_INLINE_BYTES_MAX)
    return { payload: { ...known, request: text }, payloadHash };
  return { payload: known, payloadHash, stage: () => stageText(payloads, space, known, text) };
}

/**
 * The payload of a job: the request, or the reference to its staged text if it is too large for a run. `what` names the payload in
 * the message that refuses one beyond the limit of the setting.
 */
export async function requestPayload(
  payloads: StagedPayloads,
  space: string,
  request: object,
  what: string,
  turns: Turns,
): Promise<KeptPayload> {
  const text = checkedText(payloads, await inTurns(canonicalInSteps(request), turns), what);
  const payloadHash = await hashOf(text);
  if (Buffer.byteLength(text) <= STAGED_INLINE_BYTES_MAX) return { payload: request as Json, payloadHash };
  return { payload: {}, payloadHash, stage: () => stageText(payloads, space, {}, text) };
}

function checkedText({ payloadBytesMax }: StagedPayloads, text: string, what: string): string {
  if (Buffer.byteLength(text) <= payloadBytesMax) return text;
  const detail = `Durable ${what} payload cannot exceed ${payloadBytesMax} bytes`;
  throw invalidMember('', detail, 'limit_exceeded');
}

/** Hashes the text in parts with turns for other work between them, because it may have 32 MB. */
function hashOf(text: string): Promise<string> {
  return sha256InTurns(Buffer.from(text));
}

/** Stages the text of a request. Returns `Full` if the space has no room for more staged text. */
async function stageText(
  payloads: StagedPayloads,
  space: string,
  known: JsonObject,
  text: string,
): Promise<StagedPayload | Full> {
  const reference = await payloads.stage(space, text);
  if (typeof reference !== 'string') return reference;
  return {
    payload: { ...known, staged: reference, textHash: await hashOf(text) },
    tags: { [PAYLOAD_TAG]: reference },
    discard: () => payloads.discard(space, reference),
  };
}

/** The reference in the payload of a run; an object without members if the payload is the request itself. */
export function stagedIn(payload: Json): StagedText {
  return typeof payload === 'object' && payload !== null && 'staged' in payload ? payload : {};
}

/** The request that `requestPayload` stored. Throws the errors of `readStagedText`. */
export async function requestOf(payloads: StagedPayloads, payload: Json): Promise<Json> {
  const reference = stagedIn(payload);
  if (reference.staged === undefined) return payload;
  return JSON.parse(await readStagedText(payloads, reference)) as Json;
}

/** The text that `textPayload` stored. Throws the errors of `readStagedText`. */
export async function textOf(payloads: StagedPayloads, payload: TextPayload): Promise<string> {
  return payload.request ?? readStagedText(payloads, payload);
}

/** Throws `not_found` if upkeep has removed the text, and `content_hash_mismatch` if the text has changed. */
async function readStagedText(payloads: StagedPayloads, { staged, textHash }: StagedText): Promise<string> {
  const text = await payloads.read(staged ?? '');
  if (textHash !== undefined && (await hashOf(text)) !== textHash)
    throw new ServiceError('content_hash_mismatch', 'The staged payload is not what the request held.');
  return text;
}

/** An error that carries the failure class of the run, such as that of a provider. */
type ClassedFailure = Error & { readonly failureClass: string };

interface StagedWork<Result> {
  readonly work: () => Promise<Result>;
  /** Errors of this class end the run under their failure class. */
  readonly failure?: abstract new (
    ...given: never[]
  ) => ClassedFailure;
  /** Reports progress, which also proves that this worker still holds the run. Default: an empty report. */
  readonly report?: () => Promise<unknown>;
}

/** Runs a job whose request may be staged, and discards the staged text once no later attempt needs it. */
export async function withStaged<Result>(
  payloads: Pick<StagedPayloads, 'discard'>,
  context: Pick<JobContext, 'job' | 'payload' | 'signal' | 'report'>,
  { work, failure, report = () => context.report({}) }: StagedWork<Result>,
): Promise<Result> {
  const { job, signal } = context;
  const { staged } = stagedIn(context.payload);
  const discard = async () => {
    if (staged !== undefined) await payloads.discard(job.space, staged);
  };
  try {
    const result = await work();
    await discard();
    return result;
  } catch (thrown) {
    // An aborted call of a model does not fail the job: the job was cancelled, or another worker continues it.
    const isFailure = failure !== undefined && thrown instanceof failure && !signal.aborted;
    const error = isFailure ? new RunFailure(thrown.failureClass, thrown.message, { cause: thrown }) : thrown;
    await discardAfter(error, { signal, report }, discard);
    throw error;
  }
}

/**
 * Calls `discard` if the job has one attempt and ends with this error or by cancellation, because no other attempt needs the payload.
 * If that is uncertain, upkeep removes the payload later.
 */
async function discardAfter(
  error: unknown,
  context: { readonly signal: AbortSignal; readonly report: () => Promise<unknown> },
  discard: () => Promise<void>,
): Promise<void> {
  const isRefused = error instanceof ServiceError && !error.code.startsWith('lease_');
  const isEnd = isRefused || isRunFailure(error);
  if (isCancelled(context.signal) || (isEnd && (await hasRun(context)))) await discard();
}

/** Whether this worker still holds the run. Otherwise the worker that holds it needs the payload. */
async function hasRun({ report }: { readonly report: () => Promise<unknown> }): Promise<boolean> {
  try {
    await report();
    return true;
  } catch {
    return false;
  }
}
