import { invalidMember } from '../kernel/errors.ts';
import { parseJson } from '../kernel/json-text.ts';
import type { Head, Listing } from '../store/port.ts';
import { flag, members, text } from './checks.ts';

/** The members of a stored record, as a line of an archive holds them. */

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

/** The value of a body. */
export function bodyValue(body: string): unknown {
  try {
    return parseJson(body);
  } catch {
    throw invalidMember('/body', 'must be the text of JSON');
  }
}
