import { limits } from '../../contracts/generated/limits.ts';
import type { ExecutionRunRequest } from '../../contracts/generated/models.ts';
import { canonicalJson, sha256 } from '../kernel/canonical-json.ts';
import { invalidMember } from '../kernel/errors.ts';
import { identifier } from '../kernel/identifiers.ts';
import { checkMoment } from './checks.ts';
import type { StartRequest } from './rules/start.ts';
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
}

/**
 * Reads a start request: trims identifiers, checks limits and hashes the payload. Rules that need the store follow
 * later.
 */
export function readStartRequest(body: ExecutionRunRequest, facts: StartFacts): StartRequest {
  const { now, payloadBytesMax, operationId } = facts;
  const payload = body.payload ?? null;
  const text = canonicalJson(payload);
  const payloadBytes = Buffer.byteLength(text);
  if (payloadBytes > payloadBytesMax) {
    throw invalidMember('/payload', `must be at most ${payloadBytesMax} bytes as JSON`, 'limit_exceeded');
  }
  return {
    handlerId: identifier(body.handlerId, '/handlerId'),
    pluginId: optionalName(body.pluginId, '/pluginId'),
    payload,
    payloadHash: sha256(text),
    payloadBytes,
    idempotencyKey: optionalName(body.idempotencyKey, '/idempotencyKey'),
    correlationId: optionalName(body.correlationId, '/correlationId'),
    scope: scopeOf(body, facts),
    scheduledAt:
      body.scheduledAtUtc === undefined || body.scheduledAtUtc === null
        ? null
        : checkMoment(body.scheduledAtUtc, now, '/scheduledAtUtc'),
    retryPolicy: retryOf(body),
    tags: tagsOf(body),
    operationId,
  };
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

function tagsOf({ tags }: ExecutionRunRequest): Readonly<Record<string, string>> {
  if (tags === undefined || tags === null) return {};
  if (Object.keys(tags).some((name) => name.startsWith(RESERVED_TAG_PREFIX))) {
    throw invalidMember('/tags', `must not have names that begin with ${RESERVED_TAG_PREFIX}`);
  }
  return checkMap(tags, '/tags');
}

/** Largest payload by configuration and contract. */
export function payloadLimit(configured: number): number {
  return Math.min(configured, limits.executionPayloadBytesMax);
}
