import { docComment, HEADER, memberName, quote, union } from './print.ts';
import { type Json, type Model, nullableBranch, referenceName, type Schema, typesOf } from './schema.ts';
import type { ContractSource } from './source.ts';

const PREAMBLE = `${HEADER}

export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;

export type JsonObject = { readonly [member: string]: JsonValue };
`;

/**
 * `models.ts`: one type per model. They are type aliases, because TypeScript does not accept an interface where code
 * expects a `JsonObject`.
 */
export function emitModels({ models }: ContractSource): string {
  const byFile = Map.groupBy(models.values(), (model) => model.file);
  const parts = [...byFile].map(([file, members]) => `\n// ---- ${file}\n${members.map(modelType).join('')}`);
  return PREAMBLE + parts.join('');
}

function modelType({ name, schema }: Model): string {
  const doc = docComment(describe(schema), '', schema.deprecated === true ? ['@deprecated'] : []);
  if (schema.properties === undefined) return `\n${doc}export type ${name} = ${typeText(schema)};\n`;
  const required = new Set(schema.required ?? []);
  const members = Object.entries(schema.properties).map(
    ([member, memberSchema]) =>
      docComment(describe(memberSchema), '  ', memberSchema.deprecated === true ? ['@deprecated'] : []) +
      `  readonly ${memberName(member)}${required.has(member) ? '' : '?'}: ${typeText(memberSchema)};\n`,
  );
  const further = schema.additionalProperties === true ? '  readonly [member: string]: unknown;\n' : '';
  return `\n${doc}export type ${name} = {\n${members.join('')}${further}};\n`;
}

/** The TypeScript type of a schema. */
function typeText(schema: Schema): string {
  const reference = referenceName(schema);
  if (reference !== undefined) return reference;
  const branch = nullableBranch(schema);
  if (branch !== undefined) return `${typeText(branch)} | null`;
  if (schema.oneOf !== undefined) return union(schema.oneOf.map(typeText));
  if (schema.const !== undefined) return literalType(schema.const);
  if (schema.enum !== undefined) return union(schema.enum.map(literalType));
  if (schema['x-svc-binary'] === true) return 'AsyncIterable<Uint8Array>';
  const types = typesOf(schema);
  return types.length === 0 ? 'JsonValue' : union(types.map((type) => plainType(type, schema)));
}

function plainType(type: string, schema: Schema): string {
  if (type === 'integer' || type === 'number') return 'number';
  if (type === 'array') {
    const item = schema.items === undefined ? 'JsonValue' : typeText(schema.items);
    return `readonly ${/[ |]/.test(item) ? `(${item})` : item}[]`;
  }
  if (type !== 'object') return type;
  const values = schema.additionalProperties;
  return typeof values === 'object' ? `{ readonly [name: string]: ${typeText(values)} }` : 'JsonObject';
}

function literalType(value: Json): string {
  return typeof value === 'string' ? quote(value) : JSON.stringify(value);
}

const PREVIEW = 'Preview: any release may change it.';

/** The description of a schema with its stability and its bounds in words. */
export function describe(schema: Schema): string {
  const preview = schema['x-svc-preview'] === true ? PREVIEW : '';
  return [preview, schema.description ?? '', bounds(schema)].filter((text) => text !== '').join(' ');
}

function bounds(schema: Schema): string {
  const parts: string[] = [];
  const range = (unit: string, low: number | undefined, high: number | undefined) => {
    if (low !== undefined && high !== undefined) parts.push(`${low} to ${high}${unit}`);
    else if (low !== undefined) parts.push(`at least ${low}${unit}`);
    else if (high !== undefined) parts.push(`at most ${high}${unit}`);
  };
  range(' characters', schema.minLength, schema.maxLength);
  range(' items', schema.minItems, schema.maxItems);
  range(' entries', schema.minProperties, schema.maxProperties);
  range('', schema.minimum, schema.exclusiveMinimum === undefined ? schema.maximum : undefined);
  if (schema.exclusiveMinimum !== undefined) parts.push(`above ${schema.exclusiveMinimum}`);
  if (schema.exclusiveMinimum !== undefined && schema.maximum !== undefined)
    parts.push(`at most ${schema.maximum}`);
  if (schema.format === 'date-time') parts.push('RFC 3339');
  if (schema.default !== undefined) parts.push(`${JSON.stringify(schema.default)} when absent`);
  return parts.length === 0 ? '' : `(${parts.join(', ')})`;
}
