import { hash } from 'node:crypto';
import type { Json } from '../../kernel/canonical-json.ts';
import { invalidMember } from '../../kernel/errors.ts';
import { checkBytes } from '../../kernel/identifiers.ts';
import { cutToBytes } from './text-order.ts';

const ID_BYTES_MAX = 1_023;
const PARTITION_KEY_BYTES_MAX = 2_048;
/** MySQL keys hold 768 bytes: two parts of 360 and a separator fit. */
const PART_BYTES_MAX = 360;
/** Sorts below all characters of a part. U+0001 and U+0002 inside a part get the prefix U+0002, which keeps the order. */
const SEPARATOR = '\u0001';
const ESCAPE = '\u0002';
const CUT_BYTES = 316;
const CUT_FORM = /~[A-Za-z0-9_-]{43}$/;
/** The least bytes of a cut part: a cut removes up to three extra bytes if a code point crosses its end. */
const CUT_FORM_BYTES_MIN = PART_BYTES_MAX - 3;

/** A stored record as the rules read it. */
export interface RecordValue extends PartitionedKey {
  readonly [member: string]: Json;
}

/** The key of a record within its collection. */
export interface PartitionedKey {
  readonly partitionKey: string;
  readonly id: string;
}

/** The id of a record, as given. Throws `validation_failed` or `limit_exceeded` naming `pointer`. */
export function checkRecordId(id: string, pointer: string): string {
  checkKeyText(id, pointer);
  if (/[/\\?#]/.test(id)) throw invalidMember(pointer, 'must not hold any of / \\ ? #');
  checkBytes(id, ID_BYTES_MAX, pointer);
  return id;
}

/** The partition key of a record, as given; it may hold a slash. Throws as `checkRecordId` does. */
export function checkPartitionKey(partitionKey: string, pointer: string): string {
  checkKeyText(partitionKey, pointer);
  checkBytes(partitionKey, PARTITION_KEY_BYTES_MAX, pointer);
  return partitionKey;
}

function checkKeyText(text: string, pointer: string): void {
  if (text.trim().length === 0) throw invalidMember(pointer, 'must not be blank');
  // Clients resolve such path segments, also percent-encoded, so no request would reach the record.
  if (text === '.' || text === '..') throw invalidMember(pointer, 'must not be . or ..');
  // PostgreSQL cannot store U+0000, and the store separates its own keys by it.
  if (text.includes('\0')) throw invalidMember(pointer, 'must not hold U+0000');
  if (!text.isWellFormed()) throw invalidMember(pointer, 'must be well-formed Unicode');
}

/**
 * The text by which a collection lists its records: partition key first, then id. Different records have different order
 * keys. Long parts are cut, so records that differ only beyond the cut are listed in the order of their hashes.
 */
export function orderKey({ partitionKey, id }: PartitionedKey): string {
  return partitionPrefix(partitionKey) + orderPart(id);
}

/** The prefix of the order keys of a partition, and of no others. All of them sort above it. */
export function partitionPrefix(partitionKey: string): string {
  return orderPart(partitionKey) + SEPARATOR;
}

function orderPart(given: string): string {
  const text = given.replaceAll(ESCAPE, ESCAPE + ESCAPE).replaceAll(SEPARATOR, ESCAPE + SEPARATOR);
  const bytes = Buffer.byteLength(text);
  // Cut a short part that looks like a cut one too: it could equal the cut form of a longer part.
  const cut = bytes > PART_BYTES_MAX || (bytes >= CUT_FORM_BYTES_MIN && CUT_FORM.test(text));
  // No record has a part with U+0000, but a query may name one, and PostgreSQL refuses it.
  if (!cut && !text.includes('\0')) return text;
  return `${cutToBytes(text.replaceAll('\0', ''), CUT_BYTES)}~${hash('sha256', text, 'base64url')}`;
}
