import type { Json } from './schema.ts';

/** Members whose text only people read. The `title` of a problem is part of an answer, and not among them. */
const TEXTS = new Set(['description', 'summary', 'whoActs']);

/** Members that hold data in place of schemas: a `description` inside them is no text of the contract. */
const DATA = new Set(['examples', 'example', 'default', 'const', 'enum']);

/** Members of a hash of the texts, which changes with them. */
const HASHES = new Set(['contentVersion']);

/**
 * A contract file without its texts. Two files that give the same value differ in texts alone.
 * @testonly
 */
export function withoutTexts(value: Json): Json {
  return stripped(value, false);
}

/** `namesMembers`: the keys of `value` are names of members of a model, which may be `default` or `description`. */
function stripped(value: Json, namesMembers: boolean): Json {
  if (Array.isArray(value)) return value.map((item: Json) => stripped(item, false));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name, member]) => !(typeof member === 'string' && isText(name, value)))
      .map(([name, member]) => [
        name,
        !namesMembers && DATA.has(name) ? member : stripped(member, !namesMembers && name === 'properties'),
      ]),
  );
}

function isText(name: string, holder: object): boolean {
  if (name === 'title') return '$defs' in holder || isMcpDefinition(holder);
  return TEXTS.has(name) || HASHES.has(name);
}

/** A tool or a resource of MCP: its title is the summary of its operation. */
function isMcpDefinition(holder: object): boolean {
  return 'inputSchema' in holder || ('uri' in holder && 'mimeType' in holder);
}

/**
 * The files that differ in more than texts, of two versions of a contract by path. The order of members counts.
 * @testonly
 */
export function changedBeyondTexts(
  before: ReadonlyMap<string, Json>,
  after: ReadonlyMap<string, Json>,
): readonly string[] {
  const paths = new Set([...before.keys(), ...after.keys()]);
  return [...paths].filter((path) => bare(before.get(path)) !== bare(after.get(path))).sort();
}

/** How two versions of a contract differ: not at all, in texts alone, or in more, with the files that differ in more. */
export function differenceOf(
  before: ReadonlyMap<string, Json>,
  after: ReadonlyMap<string, Json>,
): 'none' | 'texts' | readonly string[] {
  const changed = changedBeyondTexts(before, after);
  if (changed.length > 0) return changed;
  const isSame = [...before].every(
    ([path, file]) => JSON.stringify(file) === JSON.stringify(after.get(path)),
  );
  return isSame ? 'none' : 'texts';
}

function bare(file: Json | undefined): string | undefined {
  return file === undefined ? undefined : JSON.stringify(withoutTexts(file));
}
