import { sha256 } from '../../kernel/canonical-json.ts';

const PREFIX_LENGTH_MAX = 128;
const ANY_PREFIX = 'doc';
const INDEX_DIGITS = 4;
const HASH_DIGITS = 12;
const NAME_HASH_DIGITS = 16;
/** Characters that a prefix must not begin or end with. */
const EDGES = '-_.';

/** The id of a document that its request does not name, from the hash of its text. */
export function documentIdOf(textHash: string): string {
  return `doc-${digitsOf(textHash).slice(0, 16)}`;
}

/**
 * The prefix of the ids of a document's records: ASCII that is safe in a path, at most 128 characters. If the prefix cannot keep the
 * whole name, it has a hash of the name, which keeps documents apart.
 */
export function idPrefixOf(given: string): string {
  const name = given.trim();
  const slug = trimmed(name.replace(/[^A-Za-z0-9\-_.]/g, '-')) || ANY_PREFIX;
  if (slug === name && slug.length <= PREFIX_LENGTH_MAX) return slug;
  const hash = digitsOf(sha256(name)).slice(0, NAME_HASH_DIGITS);
  return `${slug.slice(0, PREFIX_LENGTH_MAX - 1 - NAME_HASH_DIGITS)}-${hash}`;
}

function trimmed(text: string): string {
  const isEdge = (at: number) => EDGES.includes(text.charAt(at));
  let [from, to] = [0, text.length];
  while (from < to && isEdge(from)) from += 1;
  while (to > from && isEdge(to - 1)) to -= 1;
  return text.slice(from, to);
}

/** The id depends on index and text, so a chunk that moves or changes is another record. */
export function chunkIdOf(prefix: string, index: number, textHash: string): string {
  const place = String(index).padStart(INDEX_DIGITS, '0');
  return `${prefix}-chunk-${place}-${digitsOf(textHash).slice(0, HASH_DIGITS)}`;
}

/** The id of the record that describes how the document was cut. */
export function manifestIdOf(prefix: string, given: string | null): string {
  return given === null ? `${prefix}-manifest` : idPrefixOf(given);
}

/** The hexadecimal digits after `sha256:`. */
function digitsOf(hash: string): string {
  return hash.slice(hash.indexOf(':') + 1);
}
