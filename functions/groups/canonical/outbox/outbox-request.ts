import { limits } from '../../../../contracts/generated/limits.ts';
import type { CanonicalOutboxWrite } from '../../../../contracts/generated/models.ts';
import type { Json } from '../../../kernel/canonical-json.ts';
import { invalidMember, pointerTo } from '../../../kernel/errors.ts';
import { checkText, identifier, pathIdentifier } from '../../../kernel/identifiers.ts';
import { formatUtc, parseUtc } from '../../../kernel/timestamp.ts';
import { boundedInSteps } from '../bounded-text.ts';

export interface OutboxWrite {
  /** The caller's event id, or `null`: the service then makes one from transaction id and position. */
  readonly id: string | null;
  readonly topic: string;
  readonly key: string;
  /** Any JSON value; `null` without a payload. */
  readonly payload: Json;
  /** `payload` as canonical JSON. */
  readonly payloadText: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly notBeforeUtc: string | null;
  readonly maxDeliveryAttempts: number | null;
}

/** Reads in steps, like the whole commit. */
export function* readOutboxWrite(write: CanonicalOutboxWrite, pointer: string): Generator<void, OutboxWrite> {
  const id = write.id?.trim() ?? '';
  return {
    id: id === '' ? null : suppliedId(id, `${pointer}/id`),
    topic: identifier(write.topic, `${pointer}/topic`),
    key: identifier(write.key, `${pointer}/key`),
    payload: write.payload ?? null,
    payloadText: yield* boundedInSteps(
      write.payload ?? null,
      limits.outboxPayloadBytesMax,
      `${pointer}/payload`,
    ),
    headers: readHeaders(write.headers ?? {}, `${pointer}/headers`),
    notBeforeUtc: optionalMoment(write.notBeforeUtc, `${pointer}/notBeforeUtc`),
    maxDeliveryAttempts: write.maxDeliveryAttempts ?? null,
  };
}

/** The prefix of generated ids. A caller could otherwise take such an id in advance and make another caller's commit fail. */
const RESERVED_ID_PREFIX = 'ctx_';

function suppliedId(text: string, pointer: string): string {
  const id = pathIdentifier(text, pointer);
  if (id.startsWith(RESERVED_ID_PREFIX)) {
    throw invalidMember(
      pointer,
      `must not begin with ${RESERVED_ID_PREFIX}, which is reserved for the service`,
    );
  }
  return id;
}

/** A time of the caller in the service's spelling, or `null` if none was given. */
export function optionalMoment(text: string | null | undefined, pointer: string): string | null {
  if (text === undefined || text === null) return null;
  const milliseconds = parseUtc(text);
  if (milliseconds === undefined) throw invalidMember(pointer, 'must be a moment of the years 0000 to 9999');
  return formatUtc(milliseconds);
}

function readHeaders(headers: Readonly<Record<string, string>>, pointer: string): Record<string, string> {
  const read: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    const member = pointerTo(pointer, name);
    identifier(name, member);
    checkText(value, member);
    if (value.trim() === '') throw invalidMember(member, 'must not be blank');
    if (value.length > limits.outboxHeaderValueLengthMax) {
      const most = limits.outboxHeaderValueLengthMax;
      throw invalidMember(member, `must be at most ${most} characters`, 'limit_exceeded');
    }
    read[name] = value;
  }
  return read;
}
