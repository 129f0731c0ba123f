import type { Json } from './schema.ts';

/** The first string with this member name, at any depth. */
export function textNamed(value: Json, name: string): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const members = Object.entries(value);
  const own = members.find(([member, text]) => member === name && typeof text === 'string');
  if (own !== undefined) return own[1] as string;
  return members.map(([, member]) => textNamed(member, name)).find((text) => text !== undefined);
}
