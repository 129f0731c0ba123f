import type { Json } from '../../kernel/canonical-json.ts';

/** A member of a JSON object; `undefined` if it is absent. */
export function memberOf(value: unknown, name: string): unknown {
  const isObject = typeof value === 'object' && value !== null && Object.hasOwn(value, name);
  return isObject ? (value as Readonly<Record<string, unknown>>)[name] : undefined;
}

/** Bytes of a value as JSON. */
export function bytesOf(value: Json | undefined): number {
  return Buffer.byteLength(JSON.stringify(value ?? null));
}
