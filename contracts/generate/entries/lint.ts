import type { CatalogHeader, CatalogParameter } from '../catalog.ts';
import { groupFile, SHARED_FILE } from '../compose-catalog.ts';
import { expandEntry, partNamed, type Surroundings } from './expand.ts';
import type { EntrySource, GroupSource, HeaderSource, NamedParts, ParameterSource } from './types.ts';

type Groups = Readonly<Record<string, GroupSource>>;
type Kind = keyof NamedParts;

const KINDS: Readonly<Record<Kind, string>> = {
  parameters: 'parameter',
  headers: 'header',
  problemSets: 'problem set',
};

/**
 * The faults of entries whose shape is right: unknown names first, since nothing can be said of their entries, then named
 * parts and members that the source does not need.
 */
export function lintEntries(groups: Groups, surroundings: Surroundings): readonly string[] {
  const unknown = [
    ...unknownNames(groups, surroundings),
    ...unknownCodes(groups, surroundings),
    ...namesTwice(groups, surroundings),
  ];
  if (unknown.length > 0) return unknown;
  return [
    ...unusedNames(groups, surroundings),
    ...equalParts(groups, surroundings),
    ...repeatedParts(groups, surroundings),
    ...writtenOutSets(groups, surroundings),
    ...idleMembers(groups, surroundings),
  ];
}

/** A parameter or header of an entry as it is written, or an item of its problems. */
interface Given {
  readonly kind: Kind;
  /** The name of a part, or a code; `null` where the entry writes the part out. */
  readonly name: string | null;
  readonly part: CatalogParameter | CatalogHeader | null;
}

function given(entry: EntrySource): readonly Given[] {
  const { parameters = [], routeOnlyParameters = [], aliases = [], responses, problems = [] } = entry;
  const all = [...parameters, ...routeOnlyParameters, ...aliases.flatMap((alias) => alias.parameters ?? [])];
  const headers = responses.flatMap((response) => response.headers ?? []);
  return [
    ...all.map((each) => givenAs('parameters', each)),
    ...headers.map((each) => givenAs('headers', each)),
    ...problems.map((each) => givenAs('problemSets', each)),
  ];
}

function givenAs(kind: Kind, each: ParameterSource | HeaderSource): Given {
  return typeof each === 'string' ? { kind, name: each, part: null } : { kind, name: null, part: each };
}

/** The names of parts that an entry uses. Names of sets have a capital letter, codes have none. */
function namesOf(entry: EntrySource): readonly { readonly kind: Kind; readonly name: string }[] {
  return given(entry).flatMap(({ kind, name }) =>
    name === null || (kind === 'problemSets' && !/[A-Z]/.test(name)) ? [] : [{ kind, name }],
  );
}

function codesOf({ problems = [], withoutProblems = [], problemsBefore = {} }: EntrySource) {
  return [
    ...problems.filter((name) => !/[A-Z]/.test(name)),
    ...withoutProblems,
    ...Object.entries(problemsBefore).flat(),
  ];
}

function eachEntry<T>(
  groups: Groups,
  look: (entry: EntrySource, group: GroupSource, name: string) => readonly T[],
): readonly T[] {
  return Object.entries(groups).flatMap(([name, group]) =>
    group.operations.flatMap((entry) => look(entry, group, name)),
  );
}

function unknownNames(groups: Groups, { shared }: Surroundings): readonly string[] {
  return eachEntry(groups, (entry, group, name) =>
    namesOf(entry)
      .filter((each) => partNamed([group, shared], each.kind, each.name) === undefined)
      .map((each) => `${groupFile(name)}: ${entry.id}: no ${KINDS[each.kind]} is named ${each.name}`),
  );
}

function unknownCodes(groups: Groups, { shared, problemOrder }: Surroundings): readonly string[] {
  const lists: readonly (readonly [string, string, readonly string[]])[] = [
    ...Object.entries(shared.impliedProblems).map(([name, codes]) => [SHARED_FILE, name, codes] as const),
    ...scopesOf(groups, shared).flatMap(([file, { problemSets = {} }]) =>
      Object.entries(problemSets).map(([name, codes]) => [file, name, codes] as const),
    ),
    ...eachEntry(groups, (entry, _, name) => [[groupFile(name), entry.id, codesOf(entry)] as const]),
  ];
  return lists.flatMap(([file, name, codes]) =>
    codes
      .filter((code) => !problemOrder.includes(code))
      .map((code) => `${file}: ${name}: unknown problem code ${code}`),
  );
}

function scopesOf(groups: Groups, shared: NamedParts): readonly (readonly [string, NamedParts])[] {
  return [
    [SHARED_FILE, shared],
    ...Object.entries(groups).map(([name, group]) => [groupFile(name), group] as const),
  ];
}

interface Declared {
  readonly file: string;
  readonly kind: Kind;
  readonly name: string;
  readonly part: unknown;
}

function declared(groups: Groups, shared: NamedParts): readonly Declared[] {
  return scopesOf(groups, shared).flatMap(([file, scope]) =>
    (Object.keys(KINDS) as Kind[]).flatMap((kind) =>
      Object.entries(scope[kind] ?? {}).map(([name, part]) => ({ file, kind, name, part })),
    ),
  );
}

/** A name has one meaning in the whole contract. */
function namesTwice(groups: Groups, { shared }: Surroundings): readonly string[] {
  const all = declared(groups, shared);
  return all.flatMap(({ file, kind, name }, at) => {
    const first = all.findIndex((other) => other.kind === kind && other.name === name);
    return first === at ? [] : [`${file}: the ${KINDS[kind]} ${name} is declared in ${all[first]?.file} too`];
  });
}

function unusedNames(groups: Groups, { shared }: Surroundings): readonly string[] {
  const used = new Set(
    eachEntry(groups, (entry) => namesOf(entry).map(({ kind, name }) => `${kind} ${name}`)),
  );
  return declared(groups, shared)
    .filter(({ kind, name }) => !used.has(`${kind} ${name}`))
    .map(({ file, kind, name }) => `${file}: no entry uses the ${KINDS[kind]} ${name}`);
}

/** The same text for equal parts: the order of the codes in a set means nothing. */
function textOf({ kind, part }: Pick<Declared, 'kind' | 'part'>): string {
  return `${kind} ${JSON.stringify(Array.isArray(part) ? (part as readonly string[]).toSorted() : part)}`;
}

/** No two names stand for equal parts. */
function equalParts(groups: Groups, { shared }: Surroundings): readonly string[] {
  const all = declared(groups, shared);
  return all.flatMap((each, at) => {
    const other = all.find((before) => textOf(before) === textOf(each));
    return other === undefined || other === all[at]
      ? []
      : [`${each.file}: the ${KINDS[each.kind]} ${each.name} equals ${other.name} of ${other.file}`];
  });
}

/** A part that two entries have has a name. */
function repeatedParts(groups: Groups, { shared }: Surroundings): readonly string[] {
  const named = new Map(declared(groups, shared).map((each) => [textOf(each), each]));
  const seen = new Map<string, string>();
  return eachEntry(groups, (entry, _, group) =>
    given(entry).flatMap(({ kind, part }) => {
      if (part === null) return [];
      const text = textOf({ kind, part });
      const place = `${groupFile(group)}: ${entry.id}: the ${KINDS[kind]} ${part.name}`;
      const known = named.get(text);
      if (known !== undefined) return [`${place} has the name ${known.name} in ${known.file}: write that`];
      const other = seen.get(text);
      seen.set(text, entry.id);
      return other === undefined ? [] : [`${place} is the same as in ${other}: give it a name`];
    }),
  );
}

function writtenOutSets(groups: Groups, { shared }: Surroundings): readonly string[] {
  return eachEntry(groups, (entry, group, name) =>
    Object.entries({ ...shared.problemSets, ...group.problemSets })
      .filter(([, codes]) => codes.every((code) => entry.problems?.includes(code)))
      .map(([set]) => `${groupFile(name)}: ${entry.id}: its problems write out the set ${set}`),
  );
}

/** The members and items of an entry that the composed catalog does not need: a default or a named part says the same. */
function idleMembers(groups: Groups, surroundings: Surroundings): readonly string[] {
  return eachEntry(groups, (entry, group, name) => {
    // The catalog has no maps of tools.
    const composed = ({ mcp, ...rest }: EntrySource) =>
      JSON.stringify([
        expandEntry(name, group, mcp === undefined ? rest : { ...rest, mcp }, surroundings),
        typeof mcp === 'object' ? mcp.tool : undefined,
      ]);
    const whole = composed(entry);
    return shorter(entry)
      .filter(([, written]) => composed(written as EntrySource) === whole)
      .map(
        ([place]) =>
          `${groupFile(name)}: ${entry.id}: ${place} changes nothing: a default or a named part says it`,
      );
  });
}

/** Members without which an entry cannot be written out. */
const REQUIRED = new Set(['id', 'route', 'responses']);

/**
 * Each value that lacks one optional member or item, with the place of what it lacks.
 * @testonly
 */
export function shorter(value: unknown, place = ''): readonly (readonly [string, unknown])[] {
  if (typeof value !== 'object' || value === null) return [];
  const isList = Array.isArray(value);
  return Object.keys(value).flatMap((key) => {
    const own = place === '' ? key : `${place}/${key}`;
    const replaced = (by: unknown): unknown =>
      isList ? value.with(Number(key), by) : { ...value, [key]: by };
    const without = isList
      ? value.toSpliced(Number(key), 1)
      : Object.fromEntries(Object.entries(value).filter(([name]) => name !== key));
    const deeper = shorter(Reflect.get(value, key), own).map(
      ([where, part]) => [where, replaced(part)] as const,
    );
    return REQUIRED.has(key) ? deeper : [[own, without] as const, ...deeper];
  });
}
