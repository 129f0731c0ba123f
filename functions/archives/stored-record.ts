import { limits } from '../../contracts/generated/limits.ts';
import type { Json } from '../kernel/canonical-json.ts';
import { invalidMember } from '../kernel/errors.ts';
import { parseStrictJsonText } from '../kernel/strict-json.ts';
import type { Head, Listing } from '../store/port.ts';
import { flag, members, text } from './checks.ts';

/** Checks for the members of a stored record in a line of an archive. */

const ID = /^[0-9a-f]{32}$/;

export function idFrom(value: unknown): string {
  const id = text(value, '/id');
  if (!ID.test(id)) throw invalidMember('/id', 'must be 32 hexadecimal digits');
  return id;
}

export function headFrom(value: unknown): Head {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalidMember('/head', 'must be an object');
  for (const held of Object.values(value))
    if (typeof held === 'object' && held !== null)
      throw invalidMember('/head', 'must hold plain values only');
  return value as Head;
}

export function listingFrom(value: unknown, pointer: string): Listing {
  const given = members(value, ['group', 'hidden', 'id', 'indexes'], pointer);
  const indexes = headFrom(given.indexes);
  for (const held of Object.values(indexes)) text(held, `${pointer}/indexes`);
  return {
    group: text(given.group, `${pointer}/group`),
    hidden: flag(given.hidden, `${pointer}/hidden`),
    id: text(given.id, `${pointer}/id`),
    indexes: indexes as Listing['indexes'],
  };
}

/** Stored bodies wrap the content of requests, so they are nested a few levels deeper, as snapshots are. */
const bodyLimits = {
  depthMax: limits.restoreJsonDepthMax,
  membersMax: limits.restoreJsonMembersMax,
  containersMax: limits.restoreJsonContainersMax,
};

/** Parses a stored body by the limits of request bodies. Throws `validation_failed`. */
export function bodyValue(body: string, more: { readonly keepsHalfCharacters?: boolean } = {}): Json {
  try {
    return parseStrictJsonText(body, { ...bodyLimits, ...more });
  } catch {
    throw invalidMember(
      '/body',
      'must be the text of JSON, with the rules and limits of the bodies of requests',
    );
  }
}
