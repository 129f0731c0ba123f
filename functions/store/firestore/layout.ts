import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { VectorValue } from '@google-cloud/firestore';
import { type Head, type RecordKey, type Scope, StoreError } from '../port.ts';

/**
 * Where records lie, and in which words; operators meet both in the console.
 *
 *     {kind}/{scope}                                                     the scope's head; absent: generation 0, no swap yet
 *     {kind}/{scope}/generations/{generation}/{collection}/{record id}
 *     {kind}/{scope}/generations/{generation}/{collection}/{record id}~1   parts, or a search entry, that had no room in it
 *
 * `kind` is `tenants`, `spaces` or `system`.
 */
export interface Fields {
  readonly head: Readonly<Record<string, string | number | boolean | null>>;
  readonly body?: Text;
  readonly group?: string;
  readonly listingId?: string;
  readonly hidden?: boolean;
  readonly indexes?: Readonly<Record<string, string>>;
  /** Token → sort key of every list that the record is in (`entries.ts`). */
  readonly order?: Readonly<Record<string, string>>;
  /** Lane → sort key of claims. */
  readonly due?: Readonly<Record<string, string>>;
  /** Record id that a part is filed under → its body, and → its order. */
  readonly parts?: Readonly<Record<string, Text>>;
  readonly partOrder?: Readonly<Record<string, string>>;
  /** How many `~n` documents follow this one. */
  readonly continuations?: number;
  /** Index bytes of the entries in `order` and `partOrder`: a later write removes them, and removals count towards its limit. */
  readonly orderBytes?: number;
  readonly partOrderBytes?: number;
  /** The place of the search entry (`search-fields.ts`), and its facts that a later write needs. */
  readonly searched?: Searched;
  /** Names the attempt that wrote last, so that a caller recognises its own write after a lost answer. */
  readonly writtenBy: string;
}

export interface Searched {
  /** The number of the document that holds it: 0 is the record's own. */
  readonly document: number;
  /** Bytes in its document. */
  readonly bytes: number;
  readonly indexBytes: number;
  /** The names of its vector fields, with spaces between. */
  readonly vectorFields: string;
}

/** JSON text: readable in the console while it is short, raw-deflated when long. */
export type Text = string | Uint8Array;

export type FirestoreValue =
  | string
  | number
  | boolean
  | null
  | Uint8Array
  | VectorValue
  | readonly string[]
  | { readonly [name: string]: FirestoreValue };
export type StoredFields = Readonly<Record<string, FirestoreValue>>;

/** The top-level collections, each with the prefix of its scopes' names: always two characters. */
const scopePrefixes: Readonly<Record<Scope['kind'], string>> = { tenants: 't-', spaces: 'd-', system: 's-' };
export const scopeKinds = Object.keys(scopePrefixes) as readonly Scope['kind'][];

export const FIRST_GENERATION = '0';

/**
 * Due records of a collection and scope share one lane. The map leaves room for more of them, should a scope ever
 * need more than the 500 writes a second that one range of a time-ordered index takes.
 */
export const LANE = '0';

const readableBytesMax = 64 * 1024;

export function headPath(scope: Scope): string {
  return `${scope.kind}/${encodeScopeName(scope)}`;
}

export function generationPath(scope: Scope, generation: string): string {
  return `${headPath(scope)}/generations/${generation}`;
}

export function collectionPath(scope: Scope, generation: string, collection: string): string {
  if (!/^[A-Za-z][A-Za-z0-9-]{0,63}$/.test(collection)) {
    throw new TypeError(`"${collection}" cannot name a collection`);
  }
  return `${generationPath(scope, generation)}/${collection}`;
}

export function recordPath(scope: Scope, generation: string, key: RecordKey): string {
  if (!/^[A-Za-z0-9-]{1,64}$/.test(key.id)) throw new TypeError(`"${key.id}" is not a record id`);
  return `${collectionPath(scope, generation, key.collection)}/${key.id}`;
}

export function continuationPath(path: string, number: number): string {
  return number === 0 ? path : `${path}~${number}`;
}

/** `{record id}` and the number behind `~`, 0 for the record's own document. */
export function parseDocumentId(documentId: string): { readonly id: string; readonly number: number } {
  const [id = '', number = '0'] = documentId.split('~');
  return { id, number: Number(number) };
}

/** The scope of a head's document. Throws `corrupt` for a name that is not ours. */
export function decodeScope(kind: Scope['kind'], documentId: string): Scope {
  const name = documentId.slice(2).replaceAll('%2F', '/').replaceAll('%25', '%');
  const scope = { kind, name } as const;
  if (encodeScopeName(scope) !== documentId)
    throw new StoreError('corrupt', `${kind}/${documentId} is no scope`);
  return scope;
}

/**
 * The prefix makes `.`, `..` and `__x__` ordinary names; `/` would end the segment, `%` begins an escape.
 * @testonly
 */
export function encodeScopeName(scope: Scope): string {
  return scopePrefixes[scope.kind] + scope.name.replaceAll('%', '%25').replaceAll('/', '%2F');
}

/** Firestore reserves `__x__` and refuses the empty name, in maps too; `~` makes way for them. */
export function encodeNames<V>(map: Readonly<Record<string, V>>): Record<string, V> {
  return Object.fromEntries(Object.entries(map).map(([name, value]) => [encodeName(name), value]));
}

export function decodeNames<V>(map: Readonly<Record<string, V>>): Record<string, V> {
  return Object.fromEntries(
    Object.entries(map).map(([name, value]) => [name.startsWith('~') ? name.slice(1) : name, value]),
  );
}

function encodeName(name: string): string {
  return name === '' || name.startsWith('~') || name.startsWith('__') ? `~${name}` : name;
}

export function encodeHead(head: Head): Record<string, string | number | boolean | null> {
  return encodeNames(head);
}

/** A fast level, because a body of a megabyte would else hold up every other request for tens of milliseconds. */
export function encodeText(text: string): Text {
  return Buffer.byteLength(text) <= readableBytesMax ? text : deflateRawSync(text, { level: 3 });
}

export function decodeText(text: Text): string {
  if (typeof text === 'string') return text;
  try {
    return inflateRawSync(text).toString();
  } catch (error) {
    throw new StoreError('corrupt', 'a stored body cannot be decompressed', { cause: error });
  }
}
