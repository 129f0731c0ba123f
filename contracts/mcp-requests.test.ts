import { resolve } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../functions/kernel/canonical-json.ts';
import { checkArguments } from '../functions/mcp/service/check-arguments.ts';
import { mappedRequest } from '../functions/mcp/service/mapped-request.ts';
import type { ToolMap } from '../functions/mcp/service/tool-map.ts';
import { mcpDefinitions } from './generate/emit-mcp.ts';
import { requestMembers } from './generate/mcp/members.ts';
import type { Schema } from './generate/schema.ts';
import { readSource } from './generate/source.ts';

/** Each request that the schema of a tool allows is a valid request of its operation. */

const source = readSource(resolve(import.meta.dirname, '..'));

const tools = mcpDefinitions(source).flatMap(({ operationId, definition, map, advanced }) => {
  if (map === undefined) return [];
  const { inputSchema } = definition as unknown as { inputSchema: Schema };
  const whole =
    advanced === undefined
      ? inputSchema
      : { ...inputSchema, properties: { ...inputSchema.properties, advanced: advanced as Schema } };
  return [{ operationId, map, schema: whole }];
});

const ajv = new Ajv2020({ strict: false, validateFormats: false });
for (const [name, { schema }] of source.models) ajv.addSchema(referring(schema), name);

/** The model with its references as those of the validator. */
function referring(schema: unknown): object {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', '"')) as object;
}

function validatorOf(operationId: string) {
  const operation = source.catalog.operations.find(({ id }) => id === operationId);
  if (operation === undefined) throw new Error(`there is no ${operationId}`);
  const members = Object.entries(requestMembers(source, operation));
  return ajv.compile({
    type: 'object',
    properties: Object.fromEntries(members.map(([name, { schema }]) => [name, referring(schema)])),
    required: members.filter(([, { required }]) => required).map(([name]) => name),
    additionalProperties: false,
  });
}

function valuesOf(schema: Schema): fc.Arbitrary<unknown> {
  const { type, enum: values, const: only } = schema;
  if (only !== undefined) return fc.constant(only);
  if (values !== undefined) return fc.constantFrom(...values);
  if (type === 'object') return objectsOf(schema);
  if (type === 'array') {
    const { items = {}, minItems = 0, maxItems = 3 } = schema;
    const bounds = { minLength: minItems, maxLength: Math.min(maxItems, Math.max(minItems, 3)) };
    return fc.array(valuesOf(items), bounds);
  }
  if (type === 'boolean') return fc.boolean();
  if (type === 'string') return textsOf(schema);
  if (type === 'integer' || type === 'number') return numbersOf(schema);
  return fc.constantFrom<unknown>('a', 1, true, ['a', 2]);
}

function objectsOf({ properties = {}, required = [], additionalProperties }: Schema): fc.Arbitrary<unknown> {
  const members = Object.entries(properties).map(([name, schema]) => [name, valuesOf(schema)] as const);
  if (members.length > 0)
    return fc.record(Object.fromEntries(members), { requiredKeys: [...required] as never[] });
  const values =
    typeof additionalProperties === 'object' ? valuesOf(additionalProperties) : fc.jsonValue({ maxDepth: 1 });
  return fc.dictionary(fc.constantFrom('a', 'b', 'c'), values, { maxKeys: 2 });
}

/** A pattern may imply the lengths, so a schema with one may state none. */
function textsOf({
  pattern,
  minLength = 0,
  maxLength = Number.POSITIVE_INFINITY,
}: Schema): fc.Arbitrary<string> {
  const fits = (text: string) => text.length >= minLength && text.length <= maxLength;
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern, 'u')).filter(fits);
  return fc.string({ minLength, maxLength: Math.min(maxLength, Math.max(minLength, 12)) });
}

function numbersOf({ type, minimum, maximum, exclusiveMinimum }: Schema): fc.Arbitrary<number> {
  const most = Math.min(maximum ?? 1_000_000, 1_000_000);
  if (type === 'integer') return fc.integer({ min: minimum ?? -9, max: most });
  const min = minimum ?? exclusiveMinimum ?? -9;
  return fc.double({ min, max: most, noNaN: true, minExcluded: exclusiveMinimum !== undefined });
}

describe('a request that the schema of a tool allows', () => {
  test.each(tools.map((tool) => [tool.operationId, tool] as const))(
    'is one of %s',
    (operationId, { schema, map }) => {
      const validate = validatorOf(operationId);
      fc.assert(
        fc.property(valuesOf(schema), (given) => {
          checkArguments(given as JsonObject, schema as unknown as JsonObject);
          const request = mappedRequest(map, given as JsonObject);
          expect(validate(request), JSON.stringify([request, validate.errors])).toBe(true);
        }),
      );
    },
  );

  test('is looked at for 17 tools, 12 tasks and 4 previews', () => {
    expect(tools).toHaveLength(33);
  });

  test('is refused by another operation, so the comparison can fail', () => {
    const search = tools.find(({ operationId }) => operationId === 'searchRecords');
    const wrong = { ...search?.map, takes: { ...search?.map.takes, query: '/lexical/words' } } as ToolMap;
    expect(validatorOf('searchRecords')(mappedRequest(wrong, { collection: 'a', query: 'b' }))).toBe(false);
  });
});
