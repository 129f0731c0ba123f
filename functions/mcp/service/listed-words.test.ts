import { expect, test } from 'vitest';
import contract from '../../../contracts/generated/mcp/definitions.json' with { type: 'json' };
import type { McpTool, ToolDefinition } from '../catalog.ts';
import { definitionFaults } from '../definitions.ts';
import { withListedWords } from './listed-words.ts';

const call = () => Promise.reject(new Error('no call'));
const toolOf = (description: string, of: object = {}): McpTool => ({
  definition: { name: 'svc_own_v1', description, inputSchema: { type: 'object', ...of } },
  call,
});
const listed = toolOf('Reads. For a use svc_own_v1.');
const other: McpTool = {
  ...listed,
  definition: { ...listed.definition, name: 'svc_b_v1', description: 'B.' },
};

test.each([
  ['Stores. Use it for a. To read use svc_c_v1. Runs.', 'Stores. Use it for a. Runs.'],
  ['Stores. For a use svc_c_v1, for b svc_b_v1.', 'Stores. For b use svc_b_v1.'],
  ['Stores. For a use svc_b_v1, for b svc_c_v1.', 'Stores. For a use svc_b_v1.'],
  ['Stores. For a use svc_c_v1, for b svc_d_v1.', 'Stores.'],
  ['Stores. Use it to keep; svc_c_v1 then reads.', 'Stores. Use it to keep.'],
  ['Stores. Use it to keep; svc_b_v1 then reads.', 'Stores. Use it to keep; svc_b_v1 then reads.'],
  ['Stores. svc_c_v1 computes. svc_b_v1 reads.', 'Stores. svc_b_v1 reads.'],
  ['Stores (on a path: startsWith 2026-01). For a use svc_c_v1.', 'Stores (on a path: startsWith 2026-01).'],
])('%s', (description, expected) => {
  expect(withListedWords([toolOf(description), other])[0]?.definition.description).toBe(expected);
});

test('arguments keep the part of their description that sends to no unlisted tool', () => {
  const properties = {
    gone: { description: 'From svc_c_v1.', type: 'string' },
    cut: { description: 'Name, such as a, from svc_c_v1.' },
    kept: { description: 'From svc_b_v1.' },
    rare: { description: 'Rare options: see resource svc://tools/svc_c_v1/v1.', enum: ['svc_c_v1'] },
    list: { items: { properties: { description: { description: 'Names from svc_c_v1.' } } }, anyOf: [{}] },
  };
  const [tool] = withListedWords([toolOf('Stores.', { properties }), other]);
  expect(tool?.definition.inputSchema['properties']).toEqual({
    gone: { type: 'string' },
    cut: { description: 'Name, such as a.' },
    kept: properties.kept,
    rare: properties.rare,
    list: { items: { properties: { description: { description: 'Names.' } } }, anyOf: [{}] },
  });
});

test('a tool whose texts name listed tools stays the same object, and so does each other form', () => {
  const tool = toolOf('Stores. For a use svc_b_v1.');
  expect(withListedWords([tool, other])[0]).toBe(tool);
  const [short] = withListedWords([tool]);
  expect(short).not.toBe(tool);
  expect(withListedWords([tool])[0]).toBe(short);
});

const all = contract.definitions.flatMap((each) =>
  each.exposure === 'resource' ? [] : [{ definition: each.definition as unknown as ToolDefinition, call }],
);

test('no tool of the contract sends to another that is not listed, and each still has words', () => {
  const named = /(?<!\/)\bsvc_[a-z_]+_v1/g;
  const faults = all.flatMap((tool) => {
    const [{ definition } = tool] = withListedWords([tool]);
    const others = (
      JSON.stringify([definition.description, definition.inputSchema]).match(named) ?? []
    ).filter((name) => name !== definition.name);
    return [
      ...others,
      ...definitionFaults([definition]),
      ...(definition.description.length < 20 ? ['short'] : []),
    ];
  });
  expect(faults).toEqual([]);
  expect(withListedWords(all)).toEqual(all);
});
