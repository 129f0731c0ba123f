import { limits } from '../../../../contracts/generated/limits.ts';
import { invalidMember, pointerTo } from '../../../kernel/errors.ts';
import { checkBytes, checkText } from '../../../kernel/identifiers.ts';

/** Checks the name of a projected index, at most 64 bytes and not blank; `validation_failed` or `limit_exceeded`. */
export function indexName(name: string, pointer: string): string {
  return checked(name, limits.indexNameBytesMax, pointer);
}

/** Checks a value of a projected index, at most 900 bytes and not blank; `validation_failed` or `limit_exceeded`. */
export function indexValue(value: string, pointer: string): string {
  return checked(value, limits.indexValueBytesMax, pointer);
}

function checked(text: string, bytesMax: number, pointer: string): string {
  checkText(text, pointer);
  checkBytes(text, bytesMax, pointer);
  if (text.trim() === '') throw invalidMember(pointer, 'name and value must not be blank');
  return text;
}

/** Checks names and values of at most `most` projected indexes. Returns them in the order of canonical JSON. */
export function indexValues(
  indexes: Readonly<Record<string, string>>,
  most: number,
  pointer: string,
): Record<string, string> {
  // Canonical JSON has this order, and so have the stored text and all answers.
  const names = Object.keys(indexes).sort();
  if (names.length > most)
    throw invalidMember(pointer, `must hold at most ${most} indexes`, 'limit_exceeded');
  const read: Record<string, string> = {};
  for (const name of names) {
    const member = pointerTo(pointer, name);
    read[indexName(name, member)] = indexValue(indexes[name] ?? '', member);
  }
  return read;
}
