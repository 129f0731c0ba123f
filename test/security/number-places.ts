import { type Json, nullableBranch, type Schema, typesOf } from '../../contracts/generate/schema.ts';
import { pointerTo } from '../../functions/kernel/errors.ts';
import type { SchemaSet } from './schema-set.ts';

/** Stands where the number is written. */
const MARK = '@number@';

/** A place of a request where a number may stand: in a free value, or as a float. */
export interface NumberPlace {
  readonly path: readonly (string | number)[];
  readonly isFloat: boolean;
}

/** Every place of a model, each model that holds itself followed once. */
export function* placesOf(
  set: SchemaSet,
  schema: Schema,
  path: NumberPlace['path'] = [],
  above: readonly Schema[] = [],
): Generator<NumberPlace> {
  const own = set.resolve(schema);
  if (above.includes(own)) return;
  const within = [...above, own];
  const branch = nullableBranch(own);
  if (branch !== undefined) yield* placesOf(set, branch, path, within);
  for (const each of own.oneOf ?? []) yield* placesOf(set, each, path, within);
  const types = typesOf(own);
  if (types.includes('number')) yield { path, isFloat: true };
  const isOpen = own.additionalProperties === undefined || own.additionalProperties === true;
  const isFree =
    own.anyOf === undefined && own.oneOf === undefined && own.enum === undefined && !('const' in own);
  if (isFree && (types.length === 0 || (types.includes('object') && isOpen)))
    yield { path: [...path, 'free/~', 0, 'n'], isFloat: false };
  if (typeof own.additionalProperties === 'object')
    yield* placesOf(set, own.additionalProperties, [...path, 'any'], within);
  if (own.items !== undefined) yield* placesOf(set, own.items, [...path, 0], within);
  for (const [name, member] of Object.entries(own.properties ?? {}))
    yield* placesOf(set, member, [...path, name], within);
}

export function bodyAt(path: NumberPlace['path']): Json {
  return path.reduceRight<Json>((value, key) => (typeof key === 'number' ? [value] : { [key]: value }), MARK);
}

/** The text of a body with the number at its place. */
export function withNumber(body: string, number: string): string {
  return body.replace(`"${MARK}"`, number);
}

export function pointerOf(path: NumberPlace['path']): string {
  return path.reduce<string>((above, key) => pointerTo(above, String(key)), '');
}

export const integer = '9007199254740993';
/** Numbers that a double would change, followed by those that it keeps. */
export const rounded = ['9007199254740993.0', '0.1234567890123456789', '1e-400'];
export const kept = '0.10 1.0 1e2 1E+2 -0.0 5e-324 1.7976931348623157e308 0.30000000000000004'.split(' ');
