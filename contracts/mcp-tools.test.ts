import { resolve } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import { HOST_TOOLS_MAX, hostFaults } from '../test/mcp/host-rules.ts';
import { mcpDefinitions } from './generate/emit-mcp.ts';
import type { Json } from './generate/schema.ts';
import { readSource } from './generate/source.ts';

const source = readSource(resolve(import.meta.dirname, '..'));
const all = mcpDefinitions(source).filter(({ exposure }) => exposure !== 'resource');

interface Tool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Json;
  readonly outputSchema: Json;
}

const tools = all.map(({ definition }) => definition as unknown as Tool);

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

describe('the tools of maps', () => {
  test('are all that need no switch', () => {
    const open = all.filter(({ exposure }) => exposure === 'tool').map(({ operationId }) => operationId);
    expect(open).toHaveLength(17);
  });

  test('are small enough for a model', () => {
    const open = all.filter(({ exposure }) => exposure === 'tool').map(({ definition }) => definition);
    // A list has about 300 bytes around its tools.
    expect(bytesOf(open)).toBeLessThanOrEqual(40_000 - 300);
    for (const tool of tools) expect(bytesOf(tool), tool.name).toBeLessThanOrEqual(6_000);
  });

  test('keep the rules of the strictest hosts', () => {
    expect(all.length).toBeLessThanOrEqual(HOST_TOOLS_MAX);
    for (const tool of tools) expect(hostFaults(tool), tool.name).toEqual([]);
    for (const { advanced, operationId } of all)
      if (advanced !== undefined)
        expect(hostFaults({ name: 'a', inputSchema: advanced }), operationId).toEqual([]);
  });

  test('have schemas that a validator takes', () => {
    for (const { definition, advanced } of all) {
      const { inputSchema, outputSchema } = definition as unknown as Tool;
      for (const schema of [inputSchema, outputSchema, advanced ?? {}]) {
        const ajv = new Ajv2020({ strict: true, allowUnionTypes: true });
        expect(() => ajv.compile(schema as object)).not.toThrow();
      }
    }
  });
});

describe('the rules of the strictest hosts', () => {
  const tool = { name: 'a', inputSchema: { type: 'object' } };
  const faultsOf = (inputSchema: Json) => hostFaults({ ...tool, inputSchema });

  test('refuse a name of 65 characters, and a root that is no object', () => {
    expect(hostFaults(tool)).toEqual([]);
    expect(hostFaults({ ...tool, name: 'a'.repeat(65) })).toHaveLength(1);
    expect(hostFaults({ ...tool, outputSchema: { type: 'array' } })).toHaveLength(1);
    expect(hostFaults({ ...tool, outputSchema: { anyOf: [{ type: 'object' }] } })).toHaveLength(1);
  });

  test('refuse boolean schemas, propertyNames and an enum without a type at any place', () => {
    const within = (schema: Json) =>
      faultsOf({ type: 'object', properties: { list: { type: 'array', items: schema } } });
    expect(within(true)).toHaveLength(1);
    expect(within({ propertyNames: { maxLength: 2 } })).toHaveLength(1);
    expect(within({ enum: ['a'] })).toHaveLength(1);
    expect(within({ type: 'string', enum: ['a'] })).toEqual([]);
    expect(faultsOf({ type: 'object', additionalProperties: true })).toHaveLength(1);
    expect(faultsOf({ type: 'object', additionalProperties: false })).toEqual([]);
  });

  test('refuse what a function of some models cannot have', () => {
    const within = (schema: Json) => faultsOf({ type: 'object', properties: { a: schema } });
    expect(within({ type: ['string', 'null'] })).toEqual(['inputSchema/a has several types']);
    expect(within({ type: 'string', const: 'a' })).toEqual(['inputSchema/a has a constant']);
    expect(within({ type: 'integer', enum: [1] })).toHaveLength(1);
    expect(within({ type: 'string', enum: ['a', ''] })).toHaveLength(1);
    expect(within({ properties: {} })).toEqual(['inputSchema/a has properties and is no object']);
    expect(within({ type: 'object', additionalProperties: {} })).toHaveLength(1);
    expect(within({ type: 'object', additionalProperties: { type: 'string' } })).toEqual([]);
    const outputSchema = { type: 'object', properties: { a: { type: ['string', 'null'] } } };
    expect(hostFaults({ ...tool, outputSchema })).toEqual([]);
  });

  test('refuse references in a cycle', () => {
    const node = { type: 'object', properties: { child: { $ref: '#/$defs/Node' } } };
    const root = { type: 'object', properties: { node: { $ref: '#/$defs/Node' } } };
    expect(faultsOf({ ...root, $defs: { Node: node } })).toHaveLength(1);
    expect(faultsOf({ ...root, $defs: { Node: { type: 'object' } } })).toEqual([]);
    expect(faultsOf(root)).toHaveLength(1);
  });
});
