import type { Json } from '../../kernel/canonical-json.ts';

/** Characters that break a line, change its direction or are not seen. JSON leaves most of them as they are. */
export const HIDDEN_CHARACTERS = /[\p{Zl}\p{Zp}\p{Cc}\p{Cf}\p{Co}\p{Cn}]/gu;

/** The JSON of a value with escapes for hidden characters, so that a text of a tenant keeps to its line. */
export function lineJson(value: Json): string {
  return JSON.stringify(value).replace(HIDDEN_CHARACTERS, (character) =>
    Array.from({ length: character.length }, (_, at) => escaped(character.charCodeAt(at))).join(''),
  );
}

function escaped(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, '0')}`;
}
