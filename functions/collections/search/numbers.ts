import { invalidMember } from '../../kernel/errors.ts';
import { float32Number } from '../rules/snapshot/float32-text.ts';

const FLOAT_MAX = (2 - 2 ** -23) * 2 ** 127;

/** The float32 of a number of a request. Throws `validation_failed` naming `pointer`. */
export function single(value: number, pointer: string): number {
  const rounded = Math.fround(value);
  if (!Number.isFinite(rounded)) throw invalidMember(pointer, 'must be a finite float32');
  return rounded;
}

/** A number of a request that counts something. Throws `validation_failed` naming `pointer`. */
export function wholeNumber(value: number, pointer: string): number {
  if (!Number.isSafeInteger(value) || value < 1)
    throw invalidMember(pointer, 'must be a whole number above 0');
  return value;
}

/** The number whose JSON text is the shortest decimal of the float32 of `value`. */
export function printedNumber(value: number): number {
  return float32Number(Math.min(FLOAT_MAX, Math.max(-FLOAT_MAX, value)));
}
