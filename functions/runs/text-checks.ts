import { limits } from '../../contracts/generated/limits.ts';
import { invalidMember } from '../kernel/errors.ts';
import { checkProse, checkText, identifier } from '../kernel/identifiers.ts';

/** Checks of single texts and maps. All throw `validation_failed` or `limit_exceeded`. */

export function checkName(value: string, pointer: string): string {
  return identifier(value, pointer);
}

export function optionalName(value: string | null | undefined, pointer: string): string | null {
  if (value === null || value === undefined || value.trim() === '') return null;
  return identifier(value, pointer);
}

/** Checks names that a request gives at most once each. */
export function distinctNames(names: readonly string[], most: number, pointer: string): readonly string[] {
  if (names.length > most) throw invalidMember(pointer, `must have at most ${most} items`, 'limit_exceeded');
  const checked = names.map((name, index) => checkName(name, `${pointer}/${index}`));
  if (new Set(checked).size < checked.length) throw invalidMember(pointer, 'must not name one twice');
  return checked;
}

/** Checks a line of text. Control characters are refused, not removed. */
export function checkLine(value: string, lengthMax: number, pointer: string): string {
  checkText(value, pointer);
  return checkLength(value, lengthMax, pointer);
}

function checkLength(value: string, lengthMax: number, pointer: string): string {
  if (value.length > lengthMax)
    throw invalidMember(pointer, `must be at most ${lengthMax} characters`, 'limit_exceeded');
  return value;
}

/** As `checkLine`, for a text that people read, which may have tabs and line breaks. */
export function checkLines(value: string, lengthMax: number, pointer: string): string {
  checkProse(value, pointer);
  return checkLength(value, lengthMax, pointer);
}

export function checkMap(
  map: Readonly<Record<string, string>>,
  pointer: string,
): Readonly<Record<string, string>> {
  const entries = Object.entries(map);
  if (entries.length > limits.executionTagsMax) {
    throw invalidMember(pointer, `must have at most ${limits.executionTagsMax} members`, 'limit_exceeded');
  }
  for (const [name, value] of entries) {
    if (name.trim() === '') throw invalidMember(pointer, 'must not have blank names');
    checkLine(name, limits.executionTagKeyLengthMax, pointer);
    checkLine(value, limits.executionTagValueLengthMax, pointer);
  }
  return map;
}
