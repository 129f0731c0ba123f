import { type Json, nullableBranch, referenceName, type Schema, typesOf } from '../schema.ts';

/**
 * A language-independent type: a JSON Schema of this contract's profile (`profile-lint.ts`) without its bounds.
 * Emitters map each kind to one form; no other kinds exist.
 */
export type SdkType =
  /** Text. With `format` an RFC 3339 time, which stays text in every language, so that no precision is lost. */
  | { readonly kind: 'string'; readonly format: 'date-time' | null }
  | { readonly kind: 'integer' | 'number' | 'boolean' }
  /** Any JSON value. */
  | { readonly kind: 'json' }
  /** Any JSON object. */
  | { readonly kind: 'json-object' }
  /** Bytes, streamed if the language can. Only as a body or as a part of one. */
  | { readonly kind: 'bytes' }
  /** One of these values, none of them null. */
  | { readonly kind: 'literal'; readonly values: readonly Json[] }
  | { readonly kind: 'array'; readonly items: SdkType }
  /** An object used as a map with any keys. */
  | { readonly kind: 'map'; readonly values: SdkType }
  | { readonly kind: 'model'; readonly name: string }
  /** One of several models; the literal member `discriminator` identifies the model. */
  | {
      readonly kind: 'union';
      readonly models: readonly string[];
      readonly discriminator: string;
    }
  /** `of` or null; never nested. */
  | { readonly kind: 'nullable'; readonly of: SdkType };

/** The type of a schema in the profile. Throws for any other schema. */
export function sdkType(schema: Schema): SdkType {
  const reference = referenceName(schema);
  if (reference !== undefined) return { kind: 'model', name: reference };
  const branch = nullableBranch(schema);
  if (branch !== undefined) return { kind: 'nullable', of: sdkType(branch) };
  if (schema.oneOf !== undefined) return unionOf(schema, schema.oneOf);
  if (schema.const !== undefined) return literalOf([schema.const]);
  if (schema.enum !== undefined) return literalOf(schema.enum);
  if (schema['x-svc-binary'] === true) return { kind: 'bytes' };
  const types = typesOf(schema);
  const type = types.find((name) => name !== 'null');
  if (type === undefined) return { kind: 'json' };
  const plain = plainType(type, schema);
  return types.includes('null') ? { kind: 'nullable', of: plain } : plain;
}

function plainType(type: string, schema: Schema): SdkType {
  switch (type) {
    case 'string':
      return { kind: 'string', format: schema.format === 'date-time' ? 'date-time' : null };
    case 'integer':
    case 'number':
    case 'boolean':
      return { kind: type };
    case 'array':
      return { kind: 'array', items: schema.items === undefined ? { kind: 'json' } : sdkType(schema.items) };
    case 'object':
      return typeof schema.additionalProperties === 'object'
        ? { kind: 'map', values: sdkType(schema.additionalProperties) }
        : { kind: 'json-object' };
    default:
      throw new Error(`the type ${type} is not of the profile`);
  }
}

function literalOf(all: readonly Json[]): SdkType {
  const values = all.filter((value) => value !== null);
  const literal: SdkType = { kind: 'literal', values };
  return values.length === all.length ? literal : { kind: 'nullable', of: literal };
}

function unionOf(schema: Schema, branches: readonly Schema[]): SdkType {
  const models = branches.map(referenceName).filter((name) => name !== undefined);
  const discriminator = schema.discriminator?.propertyName;
  if (discriminator === undefined || models.length !== branches.length) {
    throw new Error('a union is of models that a member tells apart');
  }
  return { kind: 'union', models, discriminator };
}

/** Every model that a type names. */
export function modelsIn(type: SdkType): readonly string[] {
  if (type.kind === 'model') return [type.name];
  if (type.kind === 'union') return type.models;
  if (type.kind === 'array') return modelsIn(type.items);
  if (type.kind === 'map') return modelsIn(type.values);
  return type.kind === 'nullable' ? modelsIn(type.of) : [];
}
