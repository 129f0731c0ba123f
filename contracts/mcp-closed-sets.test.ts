import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { mcpDefinitions } from './generate/emit-mcp.ts';
import { membersOf, requestMembers, resolved } from './generate/mcp/members.ts';
import type { Schema } from './generate/schema.ts';
import { type ContractSource, readSource } from './generate/source.ts';

/** A model that describes its values in words, such as `asc` or `desc`, has them as an enum in the tools. */

const source = readSource(resolve(import.meta.dirname, '..'));

/** Members whose texts have such words and whose values are any text. */
const open: ReadonlySet<string> = new Set(['passagePrefix']);

const WORDS = /`[a-z][A-Za-z_]*`[^`.;:]*(?:, `[a-z][A-Za-z_]*`)*[^`.;:]*\b(?:or|and) `[a-z][A-Za-z_]*`/;

interface Pair {
  readonly name: string;
  readonly model: Schema;
  readonly shown: Schema;
}

/** Each member of the arguments, as its model and as the tool describe it. */
function pairsOf(contract: ContractSource): readonly Pair[] {
  return mcpDefinitions(contract).flatMap(({ operationId, definition, map, advanced }) => {
    const operation = contract.catalog.operations.find(({ id }) => id === operationId);
    if (map === undefined || operation === undefined) return [];
    const { inputSchema } = definition as unknown as { readonly inputSchema: Schema };
    const shown = { ...inputSchema.properties, ...(advanced as Schema | undefined)?.properties };
    const root: Schema = {
      properties: Object.fromEntries(
        Object.entries(requestMembers(contract, operation)).map(([name, { schema }]) => [name, schema]),
      ),
    };
    return Object.entries({ ...map.takes, ...map.advanced }).flatMap(([name, pointer]) => {
      const model = pointer
        .slice(1)
        .split('/')
        .reduce((at, member) => resolved(contract, membersOf(at)[member]?.schema ?? {}), root);
      return within(contract, { name, model, shown: shown[name] ?? {} });
    });
  });
}

function within(contract: ContractSource, { name, model, shown }: Pair): readonly Pair[] {
  const below = Object.entries(shown.properties ?? {}).flatMap(([member, each]) =>
    within(contract, {
      name: member,
      model: resolved(contract, model.properties?.[member] ?? {}),
      shown: each,
    }),
  );
  const items = shown.items === undefined ? [] : within(contract, itemsOf(contract, { name, model, shown }));
  return [{ name, model, shown }, ...below, ...items];
}

function itemsOf(contract: ContractSource, { name, model, shown }: Pair): Pair {
  return { name, model: resolved(contract, model.items ?? {}), shown: shown.items ?? {} };
}

function lostSets(contract: ContractSource): readonly string[] {
  const texts = pairsOf(contract).filter(({ shown }) => shown.type === 'string' && shown.enum === undefined);
  const lost = texts.filter(({ name, model }) => WORDS.test(model.description ?? '') && !open.has(name));
  return [...new Set(lost.map(({ name }) => name))];
}

describe('closed sets', () => {
  test('are enums in every tool', () => {
    expect(lostSets(source)).toEqual([]);
    const enums = pairsOf(source).filter(({ shown }) => shown.enum !== undefined);
    expect(enums.length).toBeGreaterThan(30);
    for (const { name, shown } of enums) expect(shown.type, name).toBe('string');
  });

  test('that a map leaves in words are found', () => {
    const { maps = {}, models = {} } = source.tools ?? {};
    const { FilterNode: node = { takes: {} } } = models;
    const changed = { ...node, takes: { ...node.takes, op: 'Comparison.', combine: 'How.' } };
    const tools = { maps, models: { ...models, FilterNode: changed } };
    expect(lostSets({ ...source, tools })).toEqual(['op', 'combine']);
  });
});
