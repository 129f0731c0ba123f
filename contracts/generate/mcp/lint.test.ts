import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type ContractSource, readSource } from '../source.ts';
import { lintTools } from './lint.ts';
import type { ToolMap, ToolModel } from './types.ts';

const source = readSource(resolve(import.meta.dirname, '../../..'));

const map = mapOf(source, 'searchRecords');

/** The contract with another map of the search for records. */
function withMap(change: Partial<ToolMap>): ContractSource {
  const { maps = {}, models = {} } = source.tools ?? {};
  return { ...source, tools: { maps: { ...maps, searchRecords: { ...map, ...change } }, models } };
}

function withModel(name: string, change: (model: ToolModel) => ToolModel): ContractSource {
  const { maps = {}, models = {} } = source.tools ?? {};
  const model = models[name] ?? { takes: {} };
  return { ...source, tools: { maps, models: { ...models, [name]: change(model) } } };
}

function mapOf({ tools }: ContractSource, id: string): ToolMap {
  const found = tools?.maps[id];
  if (found === undefined) throw new Error(`${id} has no map`);
  return found;
}

describe('the maps of tools', () => {
  test('of the contract have no faults', () => {
    expect(lintTools(source)).toEqual([]);
  });

  test('name every member of the request', () => {
    const { filter: _filter, ...takes } = map.takes;
    expect(lintTools(withMap({ takes }))).toContain('searchRecords: /filter is neither taken nor left out');
    const omits = map.omits?.filter((pointer) => pointer !== '/lexical/bm25K1') ?? [];
    expect(lintTools(withMap({ omits }))).toEqual([
      'searchRecords: /lexical/bm25K1 is neither taken nor left out',
    ]);
  });

  test('name no member twice, and none that the request lacks', () => {
    const omits = map.omits ?? [];
    expect(lintTools(withMap({ omits: [...omits, '/limit'] }))).toEqual([
      'searchRecords: /limit has two uses',
    ]);
    expect(lintTools(withMap({ omits: [...omits, '/lexical'] }))).toContain(
      'searchRecords: /lexical is used as a whole and in parts',
    );
    expect(lintTools(withMap({ omits: [...omits, '/lexical/colour'] }))).toEqual([
      'searchRecords: the request has no member /lexical/colour',
    ]);
  });

  test('have an argument for each member that the request needs', () => {
    const { collection: _collection, ...takes } = map.takes;
    const omits = [...(map.omits ?? []), '/collection'];
    expect(lintTools(withMap({ takes, omits }))).toEqual([
      'searchRecords: /collection is left out, but the request needs it',
    ]);
  });

  test('have no object that may lack a member which it needs', () => {
    const omits = (map.omits ?? []).filter((pointer) => pointer !== '/vector');
    const opened = [...omits, '/vector/top', '/vector/minScore'];
    const vector = { field: { from: '/vector/field' }, numbers: { from: '/vector/value' } };
    expect(lintTools(withMap({ omits: opened, takes: { ...map.takes, ...vector } }))).toEqual([
      'searchRecords: /vector/field needs a default or "required", as its object has it',
      'searchRecords: /vector/value needs a default or "required", as its object has it',
    ]);
  });

  test('leave the names that every tool has to the generator', () => {
    const takes = { ...map.takes, include: { from: '/limit' } };
    expect(lintTools(withMap({ takes }))).toContain(
      'searchRecords: the argument include is one of every tool',
    );
  });

  test('show each model by a map that names all its members', () => {
    const { combine: _combine, ...takes } = source.tools?.models['FilterNode']?.takes ?? {};
    expect(lintTools(withModel('FilterNode', (model) => ({ ...model, takes })))).toEqual([
      'exportCollectionBounded: toolModels: FilterNode: combine is neither taken nor left out',
      'exportCollectionBounded: toolModels: FilterNode: the last level lacks combine, which is not taken',
    ]);
    expect(
      lintTools(withModel('OrderExpression', () => ({ takes: { direction: {} }, omits: ['path'] }))),
    ).toEqual(['queryRecords: toolModels: OrderExpression: path is left out, but the model needs it']);
    expect(lintTools(withModel('SvcRecord', (model) => model))).toEqual([
      'toolModels: no tool takes SvcRecord',
    ]);
  });

  test('need on the last level of a model only what it has', () => {
    const recursion = { levels: 2, lastOmits: ['children'], lastRequires: ['path', 'children', 'words'] };
    expect(lintTools(withModel('FilterNode', (model) => ({ ...model, recursion })))).toEqual([
      'exportCollectionBounded: toolModels: FilterNode: the last level needs children, which it does not have',
      'exportCollectionBounded: toolModels: FilterNode: the last level needs words, which it does not have',
    ]);
  });

  test('have a value for each member that is set, and such a member needs no argument', () => {
    const { collection: _collection, ...takes } = map.takes;
    expect(lintTools(withMap({ takes, sets: { '/collection': 'notes' } }))).toEqual([]);
    expect(lintTools(withMap({ sets: { '/collection': 'notes' } }))).toEqual([
      'searchRecords: /collection has two uses',
    ]);
    expect(lintTools(withMap({ sets: { '/colour': 'red' } }))).toEqual([
      'searchRecords: the request has no member /colour',
    ]);
  });

  test('exist for tools and tasks alone, and for each of them', () => {
    const { maps = {}, models = {} } = source.tools ?? {};
    const { searchRecords: _search, ...fewer } = maps;
    expect(lintTools({ ...source, tools: { maps: fewer, models } })).toContain(
      'searchRecords: a tool has a map, and only a tool',
    );
    const more = { ...maps, getHealth: { description: 'Health.', takes: {} } };
    expect(lintTools({ ...source, tools: { maps: more, models } })).toEqual([
      'getHealth: a tool has a map, and only a tool',
    ]);
  });
});
