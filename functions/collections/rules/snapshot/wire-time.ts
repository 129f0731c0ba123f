import { formatUtc, parseUtc } from '../../../kernel/timestamp.ts';
import { withoutTrailingZeros } from './trailing-zeros.ts';

const FRACTION_DIGITS_MAX = 7;
const form = /^(\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2})(?:\.(\d+))?([Zz]|[+-]\d{2}:\d{2})$/;

/**
 * The normal form of a time in a snapshot: UTC with `Z`, at most seven digits of a second, without trailing zeros. A text
 * that is no RFC 3339 time stays as it is.
 */
export function normalTime(text: string): string {
  const [, time = '', fraction = '', offset = ''] = form.exec(text) ?? [];
  const moment = parseUtc(time + offset);
  if (moment === undefined) return text;
  const digits = withoutTrailingZeros(fraction.slice(0, FRACTION_DIGITS_MAX));
  return `${formatUtc(moment).slice(0, 19)}${digits === '' ? '' : `.${digits}`}Z`;
}
