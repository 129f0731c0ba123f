import type { ListedTool, Schema } from './model-planner.ts';

/** Flaws that are planted in a list of tools. */

/** Changes the schema of a member; `null` removes it. */
export type Flaw = (schema: Schema) => Schema | null;

export const flaws = {
  none: (schema) => schema,
  absent: () => null,
  untold: ({ description: _description, ...schema }) => schema,
  emptied: (schema) => ({ ...schema, description: '' }),
} satisfies Readonly<Record<string, Flaw>>;

/** The tools, where the tool with the name has the flaw at the place of a call. */
export function flawed(
  tools: readonly ListedTool[],
  name: string,
  place: readonly string[],
  flaw: Flaw,
): readonly ListedTool[] {
  const names = place.filter((each) => !/^\d+$/.test(each));
  return tools.map((tool) =>
    tool.name === name ? { ...tool, inputSchema: withFlaw(tool.inputSchema, names, flaw) } : tool,
  );
}

function withFlaw(schema: Schema, names: readonly string[], flaw: Flaw): Schema {
  const [name = '', ...rest] = names;
  if (schema.items !== undefined) return { ...schema, items: withFlaw(schema.items, names, flaw) };
  const { [name]: member = {}, ...others } = schema.properties ?? {};
  const next = rest.length === 0 ? flaw(member) : withFlaw(member, rest, flaw);
  return { ...schema, properties: next === null ? others : { ...others, [name]: next } };
}

/** The place whose description counts: conditions of a group are described once, outside the group. */
export function describedPlace(place: readonly string[]): readonly string[] {
  const at = place.indexOf('children');
  return at < 0 || at + 2 >= place.length ? place : [...place.slice(0, at), ...place.slice(at + 2)];
}

/** The schema without the values of its closed sets. */
export function opened({ enum: _values, items, properties, ...schema }: Schema): Schema {
  return {
    ...schema,
    ...(items === undefined ? {} : { items: opened(items) }),
    ...(properties === undefined
      ? {}
      : {
          properties: Object.fromEntries(
            Object.entries(properties).map(([name, each]) => [name, opened(each)]),
          ),
        }),
  };
}
