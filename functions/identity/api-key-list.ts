import { type JsonPlace, repeatedMember } from '../kernel/repeated-member.ts';
import { formatUtc, parseUtc } from '../kernel/timestamp.ts';
import { isApiKeyHash } from './api-keys.ts';

/**
 * The text of an API key file:
 *
 *     { "keys": [{ "id": "reporting-2026", "hash": "sha256:…", "notAfter": "2027-01-01T00:00:00Z" }] }
 *
 * `id` is the operator's name for the key, and `notAfter` the last moment at which it is accepted, if there is one.
 */
export interface ListedApiKey {
  readonly id: string;
  /** As `hashApiKey` makes it. */
  readonly hash: string;
  /** In milliseconds of the Unix epoch; `null` for a key without an end. */
  readonly notAfter: number | null;
}

/** The reason why a list is refused. The text names places and never values, because a value might be a key in clear. */
export class ApiKeyListFault extends Error {
  override readonly name = 'ApiKeyListFault';
}

// The service compares each request with every key.
const keysMax = 1000;

/** Reads the list strictly: a misspelt member that is ignored could be the `notAfter` of a key. */
export function readApiKeyList(text: string): readonly ListedApiKey[] {
  const root = membersOf(parsed(text), 'the file', ['keys']);
  const list: unknown = root['keys'];
  if (!Array.isArray(list)) throw new ApiKeyListFault('keys is not an array');
  if (list.length > keysMax) throw new ApiKeyListFault(`keys has more than ${keysMax} entries`);
  const keys = list.map(keyAt);
  // With two entries of one hash, the removal of one would not revoke the key.
  requireDistinct(keys, 'id');
  requireDistinct(keys, 'hash');
  const repeated = repeatedMember(text);
  if (repeated !== undefined) throw new ApiKeyListFault(`${placeText(repeated)} is given twice`);
  return keys;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The message of the parser quotes the text.
    throw new ApiKeyListFault('the file is not JSON');
  }
}

/** Only these names may occur in a message. Another name might be a key in clear, in a value that a repeated member hides. */
const knownNames = new Set(['keys', 'id', 'hash', 'notAfter']);

function placeText(place: JsonPlace): string {
  if (place.some((step) => typeof step === 'string' && !knownNames.has(step))) return 'a member';
  return place
    .map((step, at) => (typeof step === 'number' ? `[${step}]` : at === 0 ? step : `.${step}`))
    .join('');
}

function keyAt(value: unknown, index: number): ListedApiKey {
  const place = `keys[${index}]`;
  const { id, hash, notAfter } = membersOf(value, place, ['id', 'hash', 'notAfter']);
  if (typeof id !== 'string' || !/^[A-Za-z0-9._-]{1,64}$/.test(id)) {
    throw new ApiKeyListFault(`${place}.id is not 1 to 64 letters, digits, dots, hyphens and underscores`);
  }
  if (typeof hash !== 'string' || !isApiKeyHash(hash)) {
    throw new ApiKeyListFault(`${place}.hash is not sha256: and 64 lower-case hexadecimal digits`);
  }
  return { id, hash, notAfter: notAfter === undefined ? null : momentAt(notAfter, `${place}.notAfter`) };
}

function momentAt(value: unknown, place: string): number {
  const written = typeof value === 'string' ? value : '';
  const moment = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/.test(written)
    ? parseUtc(written)
    : undefined;
  // The parser reads the 30th of February as a day in March.
  if (moment === undefined || formatUtc(moment).slice(0, 10) !== written.slice(0, 10)) {
    throw new ApiKeyListFault(`${place} is not a moment such as 2027-01-01T00:00:00Z`);
  }
  return moment;
}

function membersOf(
  value: unknown,
  place: string,
  names: readonly string[],
): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ApiKeyListFault(`${place} is not an object`);
  }
  const members = new Map<string, unknown>(Object.entries(value));
  for (const name of members.keys()) {
    if (!names.includes(name)) {
      throw new ApiKeyListFault(`${place} has a member that is none of ${names.join(', ')}`);
    }
  }
  return Object.fromEntries(members);
}

function requireDistinct(keys: readonly ListedApiKey[], member: 'id' | 'hash'): void {
  const first = new Map<string, number>();
  for (const [index, key] of keys.entries()) {
    const before = first.get(key[member]);
    if (before !== undefined) {
      throw new ApiKeyListFault(`keys[${index}].${member} is that of keys[${before}]`);
    }
    first.set(key[member], index);
  }
}
