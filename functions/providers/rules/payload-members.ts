import type { Json, JsonObject } from '../../kernel/canonical-json.ts';

/** A payload is not one of its capability. The text names the member and never repeats its value. */
export class InvalidPayload extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'InvalidPayload';
  }
}

/** Readers of the members of a payload. An absent member and `null` are the same. Each throws `InvalidPayload`. */

export function objectOf(value: Json | undefined, name: string): JsonObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new InvalidPayload(`${name} must be an object`);
  return value as JsonObject;
}

export function optionalObject(value: Json | undefined, name: string): JsonObject | null {
  return value === undefined || value === null ? null : objectOf(value, name);
}

/** A text that is not empty or white space alone. */
export function textOf(value: Json | undefined, name: string): string {
  const text = optionalText(value, name) ?? '';
  if (text.trim() === '') throw new InvalidPayload(`${name} must be a text that is not blank`);
  return text;
}

export function optionalText(value: Json | undefined, name: string): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value !== 'string' || !value.isWellFormed())
    throw new InvalidPayload(`${name} must be a well-formed text`);
  return value;
}

/** A count of at least 1. */
export function optionalCount(value: Json | undefined, name: string): number | null {
  if (value === undefined || value === null) return null;
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 1)
    throw new InvalidPayload(`${name} must be a whole number of at least 1`);
  return value;
}

export function optionalList(value: Json | undefined, name: string): readonly Json[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new InvalidPayload(`${name} must be a list`);
  return value;
}

export function listOf(value: Json | undefined, name: string): readonly Json[] {
  const list = optionalList(value, name);
  if (list.length === 0) throw new InvalidPayload(`${name} must be a list that is not empty`);
  return list;
}
