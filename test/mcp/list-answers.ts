import { resolve } from 'node:path';
import { mcpDefinitions } from '../../contracts/generate/emit-mcp.ts';
import { modelOf, resolved } from '../../contracts/generate/mcp/members.ts';
import { type Schema, typesOf } from '../../contracts/generate/schema.ts';
import { readSource } from '../../contracts/generate/source.ts';
import type { Json as AnswerJson } from '../../functions/kernel/canonical-json.ts';
import { itemsName } from '../../functions/mcp/service/mapped-answer.ts';

/** Every tool that reads, those that answer a list, and answers of their models. */

const source = readSource(resolve(import.meta.dirname, '../..'));

export const readTools = mcpDefinitions(source).flatMap(({ operationId, exposure, definition, map }) => {
  if (map === undefined || exposure === 'task') return [];
  const operation = source.catalog.operations.find(({ id }) => id === operationId);
  const answer = operation?.responses.find(({ status }) => status < 300);
  const { name } = definition as unknown as { readonly name: string };
  return [{ name, operationId, map, model: modelOf(source, answer?.schema ?? null) }];
});

export const listTools = readTools.filter(({ map }) => itemsName(map) !== null);

export interface Size {
  readonly items: number;
  readonly text: number;
}

/** A value of the model with every member, long texts and long lists; numbers and texts begin with the index `at` of the item. */
export function largeValue(given: Schema, size: Size, depth = 0, at = 0): AnswerJson {
  const schema = resolved(source, given);
  const { enum: values, const: only, properties, items, maxLength, additionalProperties } = schema;
  if (only !== undefined) return only;
  if (values !== undefined) return values.find((each) => each !== null) ?? null;
  const type = typesOf(schema).find((each) => each !== 'null');
  if (type === 'boolean') return true;
  if (type === 'integer' || type === 'number') return at;
  if (type === 'string')
    return `${at} ${'Eine Größe, "so". '.repeat(600)}`.slice(0, Math.min(maxLength ?? size.text, size.text));
  if (items !== undefined) {
    const count = depth <= 1 ? size.items : 3;
    return Array.from({ length: count }, (_, index) => largeValue(items, size, depth + 1, index));
  }
  if (properties !== undefined && depth < 6)
    return Object.fromEntries(
      Object.entries(properties).map(([name, each]) => [name, largeValue(each, size, depth + 1, at)]),
    );
  if (typeof additionalProperties === 'object')
    return { a: largeValue(additionalProperties, size, depth + 1) };
  return { text: 'a'.repeat(size.text) };
}
