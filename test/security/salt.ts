import type { Json, Schema } from '../../contracts/generate/schema.ts';
import type { SchemaSet } from './schema-set.ts';

export interface Salt {
  /** Goes into content whose form the contract leaves free. */
  readonly free: string;
  /** Replaces every text without a prescribed form; without it these texts stay unchanged. */
  readonly text?: string;
  /** The values of members with these names; other members may change. */
  readonly fixed: Readonly<Record<string, string>>;
}

/** A value of the model with something in it that can be recognised wherever it turns up again. */
export function salted(set: SchemaSet, written: Schema, value: Json, salt: Salt): Json {
  const schema = set.resolve(written.anyOf?.[0] ?? written);
  if (typeof value === 'string') {
    const free = schema.enum === undefined && schema.format === undefined && !('const' in schema);
    return free ? (salt.text ?? value) : value;
  }
  if (Array.isArray(value)) return value.map((item: Json) => salted(set, schema.items ?? {}, item, salt));
  if (typeof value !== 'object' || value === null) return value;
  const { properties, additionalProperties } = schema;
  const members = Object.entries(value as Record<string, Json>).map(([name, member]) => {
    const inner =
      properties?.[name] ?? (typeof additionalProperties === 'object' ? additionalProperties : {});
    return [name, salt.fixed[name] ?? salted(set, inner, member, salt)] as const;
  });
  const isFree = properties === undefined && typeof additionalProperties !== 'object';
  return Object.fromEntries(isFree ? [...members, ['salt', salt.free]] : members) as Json;
}
