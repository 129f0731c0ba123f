import { limits } from '../../contracts/generated/limits.ts';
import type { ExecutionRunRequest } from '../../contracts/generated/models.ts';
import { canonicalJson, sha256 } from '../kernel/canonical-json.ts';
import { invalidMember } from '../kernel/errors.ts';
import { identifier } from '../kernel/identifiers.ts';
import { checkCheckpoint, checkMoment } from './checks.ts';
import type { FirstCheckpoint, QuietTime, StartRequest } from './rules/start.ts';
import type { RunScope } from './run.ts';
import { checkMap, optionalName } from './text-checks.ts';

/** Reserved tag prefix of the service. */
const RESERVED_TAG_PREFIX = 'svc.';

export interface StartFacts {
  readonly now: number;
  readonly payloadBytesMax: number;
  /** The verified principal; `null` without one. */
  readonly serviceIdentity: string | null;
  readonly operationId: string;
  /** Where the request is in the body; absent if it is the body. */
  readonly pointer?: string;
}

/**
 * Reads a start request: trims identifiers, checks limits and hashes the payload. Rules that need the store follow
 * later.
 */
export function readStartRequest(body: ExecutionRunRequest, facts: StartFacts): StartRequest {
  const { now, payloadBytesMax, operationId, pointer = '' } = facts;
  const payload = body.payload ?? null;
  const text = canonicalJson(payload);
  const payloadBytes = Buffer.byteLength(text);
  if (payloadBytes > payloadBytesMax) {
    throw invalidMember(
      `${pointer}/payload`,
      `must be at most ${payloadBytesMax} bytes as JSON`,
      'limit_exceeded',
    );
  }
  const startKey = optionalName(body.concurrencyKey, `${pointer}/concurrencyKey`);
  const quiet = quietOf(body, startKey, pointer);
  return {
    handlerId: identifier(body.handlerId, `${pointer}/handlerId`),
    pluginId: optionalName(body.pluginId, `${pointer}/pluginId`),
    payload,
    payloadHash: sha256(text),
    payloadBytes,
    idempotencyKey: optionalName(body.idempotencyKey, `${pointer}/idempotencyKey`),
    correlationId: optionalName(body.correlationId, `${pointer}/correlationId`),
    scope: scopeOf(body, facts),
    scheduledAt: quiet === null ? momentOf(body, now, pointer) : now + quiet.quietMs,
    retryPolicy: retryOf(body),
    tags: tagsOf(body, pointer),
    operationId,
    ...graceOf(body, pointer),
    ...checkpointsOf(body, pointer),
    ...(startKey === null ? {} : { startKey }),
    ...(quiet === null ? {} : { quiet }),
  };
}

const SECOND_MS = 1_000;

/** A start with a quiet time says its moment by it, and has a key that names what is quiet. */
function quietOf(body: ExecutionRunRequest, startKey: string | null, pointer: string): QuietTime | null {
  const {
    startAfterQuietSeconds = null,
    startWithinSeconds = null,
    scheduledAtUtc = null,
    checkpoints,
  } = body;
  if (startAfterQuietSeconds === null) {
    if (startWithinSeconds === null) return null;
    throw invalidMember(`${pointer}/startWithinSeconds`, 'needs startAfterQuietSeconds');
  }
  if (startKey === null) throw invalidMember(`${pointer}/startAfterQuietSeconds`, 'needs a concurrencyKey');
  if (scheduledAtUtc !== null)
    throw invalidMember(`${pointer}/scheduledAtUtc`, 'must be left out beside startAfterQuietSeconds');
  if (checkpoints != null)
    throw invalidMember(`${pointer}/checkpoints`, 'must be left out beside startAfterQuietSeconds');
  const longest = limits.executionQuietSecondsMax;
  const within =
    startWithinSeconds ?? Math.min(longest, startAfterQuietSeconds * limits.executionQuietTimesDefault);
  if (within < startAfterQuietSeconds)
    throw invalidMember(`${pointer}/startWithinSeconds`, 'must be at least startAfterQuietSeconds');
  return {
    quietMs: Math.ceil(startAfterQuietSeconds * SECOND_MS),
    withinMs: Math.ceil(within * SECOND_MS),
  };
}

function momentOf({ scheduledAtUtc }: ExecutionRunRequest, now: number, pointer: string): number | null {
  if (scheduledAtUtc === undefined || scheduledAtUtc === null) return null;
  return checkMoment(scheduledAtUtc, now, `${pointer}/scheduledAtUtc`);
}

type Cancellation = Pick<ExecutionRunRequest, 'cancellation' | 'cancelGraceSeconds'>;

/** The time to undo belongs to a cooperative cancellation: without one it would have no effect. */
function graceOf(
  { cancellation, cancelGraceSeconds }: Cancellation,
  pointer: string,
): Pick<StartRequest, 'cancelGraceMs'> {
  const seconds = cancelGraceSeconds ?? null;
  if (cancellation === 'cooperative')
    return { cancelGraceMs: Math.ceil((seconds ?? limits.executionCancelGraceSecondsDefault) * 1_000) };
  if (seconds === null) return {};
  throw invalidMember(`${pointer}/cancelGraceSeconds`, 'needs the cooperative cancellation');
}

function checkpointsOf(
  { checkpoints }: ExecutionRunRequest,
  pointer: string,
): Pick<StartRequest, 'checkpoints'> {
  const checked = firstCheckpoints(checkpoints, `${pointer}/checkpoints`);
  return checked.length === 0 ? {} : { checkpoints: checked };
}

/** Throws for a key that is there twice, and for more checkpoints than a start may give. */
function firstCheckpoints(
  given: ExecutionRunRequest['checkpoints'],
  pointer: string,
): readonly FirstCheckpoint[] {
  const checkpoints = (given ?? []).map((each, at) => checkCheckpoint(each, `${pointer}/${at}`));
  if (checkpoints.length > limits.executionFirstCheckpointsMax) {
    const detail = `must be at most ${limits.executionFirstCheckpointsMax} checkpoints`;
    throw invalidMember(pointer, detail, 'limit_exceeded');
  }
  const keys = new Set<string>();
  for (const [at, { key }] of checkpoints.entries()) {
    if (keys.has(key)) throw invalidMember(`${pointer}/${at}/key`, 'must not be there twice');
    keys.add(key);
  }
  return checkpoints;
}

function scopeOf({ scope }: ExecutionRunRequest, { serviceIdentity }: StartFacts): RunScope | null {
  if (scope === undefined || scope === null) return null;
  return {
    productId: identifier(scope.productId, '/scope/productId'),
    tenantId: identifier(scope.tenantId, '/scope/tenantId'),
    serviceIdentity,
  };
}

function retryOf({ retryPolicy }: ExecutionRunRequest): StartRequest['retryPolicy'] {
  if (retryPolicy === undefined || retryPolicy === null) return null;
  const given = Object.entries(retryPolicy).filter(([, value]) => value !== undefined && value !== null);
  return Object.fromEntries(given);
}

function tagsOf({ tags }: ExecutionRunRequest, pointer: string): Readonly<Record<string, string>> {
  if (tags === undefined || tags === null) return {};
  if (Object.keys(tags).some((name) => name.startsWith(RESERVED_TAG_PREFIX))) {
    throw invalidMember(`${pointer}/tags`, `must not have names that begin with ${RESERVED_TAG_PREFIX}`);
  }
  return checkMap(tags, `${pointer}/tags`);
}
