import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readRetrieval } from '../functions/retrieval/rules/request.ts';
import { type KnownNames, type ToolTexts, textFaults } from '../test/mcp/text-rules.ts';
import { mcpDefinitions } from './generate/emit-mcp.ts';
import type { Schema } from './generate/schema.ts';
import { readSource } from './generate/source.ts';

/** The texts of all tools, previews included, help a model to choose and to call. */

const source = readSource(resolve(import.meta.dirname, '..'));

const tools = mcpDefinitions(source).flatMap(({ exposure, definition, advanced }) =>
  exposure === 'resource' ? [] : [{ exposure, tool: { ...(definition as unknown as ToolTexts), advanced } }],
);
const operations = source.catalog.operations.map(({ id }) => id);

/** A tool that is always there may not send a model to one that is not. */
function knownTo(exposure: string): KnownNames {
  const shown = tools.filter((each) => exposure === 'preview' || each.exposure !== 'preview');
  return { tools: new Set(shown.map(({ tool: { name } }) => name)), operations };
}

describe('the texts of', () => {
  test.each(tools.map((each) => [each.tool.name, each] as const))('%s', (_, { tool, exposure }) => {
    expect(textFaults(tool, knownTo(exposure))).toEqual([]);
  });

  test('17 tools, 12 tasks and 4 previews are judged', () => {
    expect(tools).toHaveLength(33);
  });
});

test.each(
  mcpDefinitions(source).flatMap(({ definition, map }) => {
    const whole = map?.answer.whole;
    return whole === undefined ? [] : [[(definition as unknown as ToolTexts).name, whole] as const];
  }),
)('the list %s sends a reader to a tool that is there: %s', (_, whole) => {
  expect(knownTo('tool').tools).toContain(whole);
});

test.each(tools.map(({ tool }) => [tool.name, tool] as const))(
  '%s says of no closed set that case does not matter',
  (_, tool) => {
    const sets = closedSets([tool.inputSchema, tool.advanced ?? {}]);
    expect(sets.filter((text) => /case-insensitive/i.test(text))).toEqual([]);
  },
);

/** The descriptions of closed sets within. */
function closedSets(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null) return [];
  const { enum: values, description } = value as { readonly enum?: unknown; readonly description?: unknown };
  const own = Array.isArray(values) && typeof description === 'string' ? [description] : [];
  return [...own, ...Object.values(value).flatMap((each: unknown) => closedSets(each))];
}

/** The objects among the arguments, at any level. */
function objectsOf({ properties = {}, items }: Schema): readonly Readonly<Record<string, Schema>>[] {
  const below = [...Object.values(properties), ...(items === undefined ? [] : [items])];
  return [properties, ...below.flatMap(objectsOf)];
}

describe('what the schema cannot say stands in a text:', () => {
  const objects = tools.flatMap(({ tool: { inputSchema } }) => objectsOf(inputSchema as Schema));

  test('a profile takes the place of the default limit', () => {
    const limits = objects.flatMap(({ profile, limit }) => (profile && limit ? [limit.description] : []));
    expect(limits.length).toBeGreaterThan(5);
    for (const text of limits) expect(text).toMatch(/; 10: that of profile\.$/);
    const limit = (given: number) =>
      readRetrieval({ query: 'q', collections: ['a'], profile: 'evidence', limit: given }, 5_000).limit;
    expect([9, 10, 11].map(limit)).toEqual([9, 8, 11]);
  });

  test('a group has no groups', () => {
    const texts = objects.flatMap(({ combine, children }) =>
      combine && children ? [children.description] : [],
    );
    expect(texts.length).toBeGreaterThan(5);
    for (const text of texts) expect(text).toContain('not groups');
  });
});

describe('a text is refused', () => {
  const sound: ToolTexts = {
    name: 'svc_notes_get_v1',
    description: 'Reads a note. Use it for one note. For several use svc_notes_list_v1.',
    inputSchema: { properties: { id: { description: 'Its id, such as n-1.' } } },
  };
  const known: KnownNames = {
    tools: new Set(['svc_notes_get_v1', 'svc_notes_list_v1']),
    operations: ['getNote', 'retrieve'],
  };
  const inSchema = (description: string) => ({ properties: { id: { description } } });

  test.each<[fault: string, change: Partial<ToolTexts>]>([
    ['does not say when to use it', { description: 'Reads a note. See svc_notes_list_v1.' }],
    ['names no other tool', { description: 'Reads a note. Use it for one note.' }],
    ['names no other tool', { description: 'Reads a note. Use it for one: svc_notes_get_v1.' }],
    [
      'names svc_notes_find_v1, which does not exist',
      { description: `${sound.description} Or svc_notes_find_v1.` },
    ],
    ['has no example of an argument', { inputSchema: inSchema('Id of an answer.') }],
    ['does not say where id comes from', { inputSchema: inSchema('Its id, so {"id":1}.') }],
    [
      'does not describe colour',
      { inputSchema: { properties: { id: { description: 'Its id, such as n-1.' }, colour: {} } } },
    ],
    ['has a word of REST', { description: `${sound.description} The Link has more.` }],
    ['has a word of REST', { inputSchema: inSchema('The id, such as a; see the header ETag.') }],
    ['has a word of REST', { inputSchema: inSchema('The id, such as a, of GET /notes.') }],
    ['has a word of REST', { description: `${sound.description} At /v1/notes.` }],
    ['has a word of REST', { advanced: { properties: { deep: { description: 'As REST does.' } } } }],
    ['names the operation getNote', { description: `${sound.description} As getNote.` }],
  ])('that %s', (fault, change) => {
    expect(textFaults({ ...sound, ...change }, known)).toEqual([fault]);
    expect(textFaults(sound, known)).toEqual([]);
  });
});
