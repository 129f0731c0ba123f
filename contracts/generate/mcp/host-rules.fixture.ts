import type { Json } from '../../contracts/generate/schema.ts';

/**
 * The faults of a tool for the strictest hosts, a sentence each (docs/mcp.md names them). Their rules together: the root of both schemas
 * is an object, an enum is one of texts, `properties` belong to an object, `additionalProperties` refuse something, and no schema is boolean,
 * refers in a cycle or has `propertyNames`. An argument has one type, and no constant.
 */
export function hostFaults(tool: HostTool): readonly string[] {
  const names = /^[A-Za-z0-9_-]{1,64}$/.test(tool.name) ? [] : ['the name is no name for every host'];
  const input = schemaFaults(tool.inputSchema, { place: 'inputSchema', isInput: true });
  const output = schemaFaults(tool.outputSchema, { place: 'outputSchema', isInput: false });
  return [...names, ...input, ...output];
}

/** The most tools that the strictest host takes. */
export const HOST_TOOLS_MAX = 128;

interface HostTool {
  readonly name: string;
  readonly inputSchema: Json;
  readonly outputSchema?: Json;
}

type Members = Readonly<Record<string, Json>>;

function schemaFaults(
  schema: Json | undefined,
  { place, isInput }: Pick<Place, 'place' | 'isInput'>,
): readonly string[] {
  if (schema === undefined) return [];
  const root = isMembers(schema) && schema['type'] === 'object' ? [] : [`${place} is no object at its root`];
  return [...root, ...faultsBelow(schema, schema, { place, isInput, above: [] })];
}

interface Place {
  readonly place: string;
  /** Whether the schema is one of arguments. */
  readonly isInput: boolean;
  /** References that lead here. */
  readonly above: readonly string[];
}

function faultsBelow(root: Json, schema: Json | undefined, at: Place): readonly string[] {
  const { place, above } = at;
  if (!isMembers(schema)) return [`${place} is a boolean schema`];
  const { $ref: reference, properties = {} } = schema;
  const faults = [...keywordFaults(schema, at)];
  if (typeof reference === 'string') {
    if (above.includes(reference)) return [...faults, `${place} refers in a cycle`];
    const target = targetOf(root, reference);
    if (target === undefined) return [...faults, `${place} refers to nothing`];
    faults.push(
      ...faultsBelow(root, target, { ...at, place: `${place} (${reference})`, above: [...above, reference] }),
    );
  }
  const below = Object.entries(properties as Members).map(
    ([name, each]) => [`${place}/${name}`, each] as const,
  );
  // `false` refuses further members, which every host reads.
  for (const keyword of ['items', 'additionalProperties', 'not'])
    if (schema[keyword] !== undefined && !(keyword === 'additionalProperties' && schema[keyword] === false))
      below.push([`${place}/${keyword}`, schema[keyword]]);
  for (const keyword of ['anyOf', 'oneOf', 'allOf'])
    for (const [index, each] of ((schema[keyword] ?? []) as readonly Json[]).entries())
      below.push([`${place}/${keyword}/${index}`, each]);
  return [...faults, ...below.flatMap(([each, lower]) => faultsBelow(root, lower, { ...at, place: each }))];
}

function keywordFaults(schema: Members, { place, isInput }: Place): readonly string[] {
  const { enum: values, type, properties, additionalProperties } = schema;
  const faults: string[] = [];
  if (values !== undefined && type === undefined) faults.push('has an enum without a type');
  else if (values !== undefined && isInput && !(Array.isArray(values) && values.every(isName)))
    faults.push('has an enum of other values than texts');
  if ('propertyNames' in schema) faults.push('has propertyNames');
  if (properties !== undefined && type !== 'object' && isInput)
    faults.push('has properties and is no object');
  if (isMembers(additionalProperties) && Object.keys(additionalProperties).length === 0)
    faults.push('has additionalProperties that refuse nothing');
  if (isInput && Array.isArray(type)) faults.push('has several types');
  if (isInput && 'const' in schema) faults.push('has a constant');
  return faults.map((fault) => `${place} ${fault}`);
}

function isName(value: Json): boolean {
  return typeof value === 'string' && value !== '';
}

function targetOf(root: Json, reference: string): Json | undefined {
  if (!reference.startsWith('#/')) return undefined;
  return reference
    .slice(2)
    .split('/')
    .reduce<Json | undefined>((at, name) => (isMembers(at) ? at[name] : undefined), root);
}

function isMembers(value: Json | undefined): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
