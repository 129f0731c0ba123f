import { invalidMember } from '../../kernel/errors.ts';

/** Whether a request has a member: `null` means absent. */
export function given<Value>(value: Value | null | undefined): value is Value {
  return value !== null && value !== undefined;
}

/** Throws `validation_failed` for a number that is not a whole number from 1, and `limit_exceeded` above `most`. */
export function checkWhole(value: number, pointer: string, most: number): number {
  if (!Number.isSafeInteger(value) || value < 1)
    throw invalidMember(pointer, 'must be a whole number above 0');
  if (value > most) throw invalidMember(pointer, `must be at most ${most}`, 'limit_exceeded');
  return value;
}

/** Throws `limit_exceeded` for a list of more than `most` items. */
export function checkMost(items: readonly unknown[], most: number, pointer: string): void {
  if (items.length > most) throw invalidMember(pointer, `must have at most ${most} items`, 'limit_exceeded');
}

/** A factor of a weighted sum. Throws `validation_failed` unless it is finite and at least 0. */
export function checkWeight(value: number, pointer: string): number {
  if (!Number.isFinite(value) || value < 0)
    throw invalidMember(pointer, 'must be a finite number of at least 0');
  return value;
}

/** Throws `validation_failed` if the weights allow no mean: their sum must be finite and above 0. */
export function checkWeights(weights: readonly number[], pointer: string): void {
  const sum = weights.reduce((total, weight) => total + weight, 0);
  if (!(sum > 0) || !Number.isFinite(sum))
    throw invalidMember(pointer, 'must have weights with a finite sum above 0');
}

/** One of the words, without regard to case; a blank text means `fallback`. */
export function readWord<Word extends string>(
  text: string | null | undefined,
  fallback: Word,
  words: readonly Word[],
  pointer: string,
): Word {
  const name = (text ?? '').trim().toLowerCase();
  if (name === '') return fallback;
  const word = words.find((each) => each.toLowerCase() === name);
  if (word === undefined) throw invalidMember(pointer, `must be one of ${words.join(', ')}`);
  return word;
}
