import type { Json } from '../../contracts/generate/schema.ts';

/**
 * The faults of a tool for the strictest hosts, a sentence each. Their rules together: the root of both schemas is an object, each
 * enum has a type, and no schema is boolean, refers in a cycle or has `propertyNames`.
 */
export function hostFaults(tool: HostTool): readonly string[] {
  const names = /^[A-Za-z0-9_-]{1,64}$/.test(tool.name) ? [] : ['the name is no name for every host'];
  const input = schemaFaults(tool.inputSchema, 'inputSchema');
  return [...names, ...input, ...schemaFaults(tool.outputSchema, 'outputSchema')];
}

/** The most tools that the strictest host takes. */
export const HOST_TOOLS_MAX = 128;

interface HostTool {
  readonly name: string;
  readonly inputSchema: Json;
  readonly outputSchema?: Json;
}

type Members = Readonly<Record<string, Json>>;

function schemaFaults(schema: Json | undefined, place: string): readonly string[] {
  if (schema === undefined) return [];
  const root = isMembers(schema) && schema['type'] === 'object' ? [] : [`${place} is no object at its root`];
  return [...root, ...faultsBelow(schema, schema, { place, above: [] })];
}

interface Place {
  readonly place: string;
  /** References that lead here. */
  readonly above: readonly string[];
}

function faultsBelow(root: Json, schema: Json | undefined, { place, above }: Place): readonly string[] {
  if (!isMembers(schema)) return [`${place} is a boolean schema`];
  const { $ref: reference, enum: values, type, properties = {} } = schema;
  const faults: string[] = [];
  if (values !== undefined && type === undefined) faults.push(`${place} has an enum without a type`);
  if ('propertyNames' in schema) faults.push(`${place} has propertyNames`);
  if (typeof reference === 'string') {
    if (above.includes(reference)) return [...faults, `${place} refers in a cycle`];
    const target = targetOf(root, reference);
    if (target === undefined) return [...faults, `${place} refers to nothing`];
    faults.push(
      ...faultsBelow(root, target, { place: `${place} (${reference})`, above: [...above, reference] }),
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
    for (const [at, each] of ((schema[keyword] ?? []) as readonly Json[]).entries())
      below.push([`${place}/${keyword}/${at}`, each]);
  return [...faults, ...below.flatMap(([at, each]) => faultsBelow(root, each, { place: at, above }))];
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
