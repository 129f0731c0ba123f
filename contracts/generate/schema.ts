/** The part of JSON Schema 2020-12 that the profile of this contract allows (see `profile-lint.ts`). */
export interface Schema {
  readonly $ref?: string;
  readonly title?: string;
  readonly description?: string;
  readonly type?: string | readonly string[];
  readonly const?: Json;
  readonly enum?: readonly Json[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly propertyNames?: Schema;
  readonly maxProperties?: number;
  readonly minProperties?: number;
  readonly items?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
  readonly default?: Json;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly discriminator?: { readonly propertyName: string };
  readonly examples?: readonly Json[];
  readonly deprecated?: boolean;
  /** The bound of a free JSON value or object, in bytes of canonical JSON. Code checks it. */
  readonly 'x-svc-max-bytes'?: number;
  /** Why members of an answer may be missing. */
  readonly 'x-svc-sparse'?: string;
  /** A reference from a request to a model of answers: the caller sends an answer back unchanged; the operation checks it. */
  readonly 'x-svc-verbatim'?: boolean;
  /** A part of a multipart body that is plain bytes. */
  readonly 'x-svc-binary'?: boolean;
  /** A member of an operation outside preview that any release may change or remove. */
  readonly 'x-svc-preview'?: boolean;
  /** Values that any release may change or remove, of a vocabulary whose other values are kept. */
  readonly 'x-svc-preview-values'?: readonly string[];
}

export type Json = null | boolean | number | string | readonly Json[] | { readonly [member: string]: Json };

/** A named model of the contract: an entry of `$defs` in one of the files under `schemas/`. */
export interface Model {
  readonly name: string;
  /** Name of the file without `.schema.json`. */
  readonly file: string;
  /** With every reference as `#/$defs/<name>`. */
  readonly schema: Schema;
}

export const REFERENCE = '#/$defs/';

export function referenceName(schema: Schema): string | undefined {
  return schema.$ref?.startsWith(REFERENCE) ? schema.$ref.slice(REFERENCE.length) : undefined;
}

export function typesOf(schema: Schema): readonly string[] {
  if (schema.type === undefined) return [];
  return typeof schema.type === 'string' ? [schema.type] : schema.type;
}

/** The other branch of `anyOf: [X, null]`, the one form in which the profile allows `anyOf`. */
export function nullableBranch(schema: Schema): Schema | undefined {
  const [branch, none, ...more] = schema.anyOf ?? [];
  return branch !== undefined && none?.type === 'null' && more.length === 0 ? branch : undefined;
}

/** Every schema inside `schema`, itself first, with the JSON Pointer that leads there. */
export function* walk(schema: Schema, pointer = ''): Generator<{ schema: Schema; pointer: string }> {
  yield { schema, pointer };
  for (const [name, member] of Object.entries(schema.properties ?? {}))
    yield* walk(member, `${pointer}/properties/${name}`);
  for (const keyword of ['additionalProperties', 'propertyNames', 'items'] as const) {
    const child = schema[keyword];
    if (typeof child === 'object') yield* walk(child, `${pointer}/${keyword}`);
  }
  for (const keyword of ['anyOf', 'oneOf'] as const) {
    for (const [index, child] of (schema[keyword] ?? []).entries())
      yield* walk(child, `${pointer}/${keyword}/${index}`);
  }
}

/** `value` with every `$ref` text replaced. Works on any JSON, so also on schemas inside OpenAPI. */
export function mapReferences<T>(value: T, map: (reference: string) => string): T {
  if (Array.isArray(value)) return value.map((item) => mapReferences(item, map)) as T;
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, item]) => [
    key,
    key === '$ref' && typeof item === 'string'
      ? map(item)
      : key === 'examples'
        ? item
        : mapReferences(item, map),
  ]);
  return Object.fromEntries(entries) as T;
}
