import { isDeepStrictEqual } from 'node:util';

/**
 * The changes of schemas that the comparison of the documents accepts or rates as small although they break callers: another default,
 * a value that a vocabulary no longer has, also in an answer, and tighter limits.
 */
export function schemaFaults(released: object, now: object): string[] {
  const faults = new Set<string>();
  const seen = new Set<string>();
  const visit = (before: Place, after: Place): void => {
    const [old, young] = [followed(before), followed(after)];
    const pair = `${old.at} ${young.at}`;
    if (seen.has(pair) || !isObject(old.node)) return;
    seen.add(pair);
    const it = isObject(young.node) ? young.node : {};
    const isMembers = holdsMembers(old.at);
    if (!isMembers) for (const fault of changes(old.node, it)) faults.add(`${old.at}: ${fault}`);
    for (const [name, child] of Object.entries(old.node)) {
      if (!isMembers && said.has(name)) continue;
      const key = keyOf(child, name, it);
      visit(step(old, name, child), step(young, key, Reflect.get(it, key)));
    }
  };
  visit(start(released, 'paths'), start(now, 'paths'));
  // Responses are compared where an operation refers to them: their names follow their problem codes, and may change.
  const schemas = (document: object) => {
    const components = start(document, 'components');
    return step(
      components,
      'schemas',
      isObject(components.node) ? Reflect.get(components.node, 'schemas') : {},
    );
  };
  visit(schemas(released), schemas(now));
  return [...faults];
}

/** A part of a document, with the way to it. */
interface Place {
  readonly document: object;
  readonly at: string;
  readonly node: unknown;
}

/** Keywords whose values are examples, and no schemas. */
const said = new Set(['example', 'examples', 'default', 'enum', 'const']);

/** A model may have a member with the name of a keyword, such as `default`; one that is called `properties` is a schema itself. */
function holdsMembers(at: string): boolean {
  return /(?<!\/properties)\/properties$/.test(at);
}

function start(document: object, part: string): Place {
  return { document, at: `/${part}`, node: Reflect.get(document, part) };
}

function step({ document, at }: Place, name: string, node: unknown): Place {
  return { document, at: `${at}/${name}`, node };
}

function followed(place: Place): Place {
  const reference = isObject(place.node) ? Reflect.get(place.node, '$ref') : undefined;
  if (typeof reference !== 'string') return place;
  let node: unknown = place.document;
  for (const name of reference.split('/').slice(1))
    node = isObject(node) ? Reflect.get(node, name) : undefined;
  return { document: place.document, at: reference.slice(1), node };
}

/** Parameters are known by their names, wherever they stand. */
function keyOf(child: unknown, name: string, now: object): string {
  if (!Array.isArray(now) || !isObject(child) || !('in' in child)) return name;
  const index = now.findIndex((each: unknown) => {
    return (
      isObject(each) && ['name', 'in'].every((key) => Reflect.get(each, key) === Reflect.get(child, key))
    );
  });
  return String(index);
}

function changes(released: object, now: object): string[] {
  const faults: string[] = [];
  const [before, after] = [of(released), of(now)];
  if ('default' in released && !isDeepStrictEqual(before('default'), after('default')))
    faults.push(`the default was ${text(before('default'))}, and is ${text(after('default'))}`);
  const values = listOf(before('enum'));
  const left = [...listOf(after('enum')), ...('const' in now ? [after('const')] : [])];
  // Without a list every value is one.
  const isOpen = !('enum' in now) && !('const' in now) && 'type' in now;
  for (const value of isOpen ? [] : values)
    if (!left.some((each) => isDeepStrictEqual(each, value))) faults.push(`the value ${text(value)} is gone`);
  const [room, roomNow] = [before(BYTES), after(BYTES)];
  if (typeof roomNow === 'number' && !(Number(room ?? Infinity) <= roomNow))
    faults.push(`${BYTES} went from ${text(room)} to ${roomNow}`);
  return faults;
}

const BYTES = 'x-svc-max-bytes';

function of(schema: object) {
  return (name: string): unknown => Reflect.get(schema, name);
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function text(value: unknown): string {
  return value === undefined ? 'none' : JSON.stringify(value);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
