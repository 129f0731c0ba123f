import { limits } from '../../contracts/generated/limits.ts';
import { invalidMember } from './errors.ts';

// U+0000–001F and U+007F–009F, which log lines, headers and sort keys must never hold.
const CONTROL = /\p{Cc}/u;
const CONTROL_IN_PROSE = /(?![\t\n\r])\p{Cc}/u;

/**
 * A caller's identifier, without surrounding white space: 1 to 160 UTF-16 units and at most 400 UTF-8 bytes, no control
 * characters, no lone surrogates. Throws `validation_failed` naming `pointer`.
 */
export function identifier(value: string, pointer: string): string {
  const trimmed = value.trim();
  if (trimmed.length === 0) throw invalidMember(pointer, 'must not be blank');
  checkText(trimmed, pointer);
  if (trimmed.length > limits.identifierLengthMax) {
    throw invalidMember(
      pointer,
      `must be at most ${limits.identifierLengthMax} characters`,
      'limit_exceeded',
    );
  }
  checkBytes(trimmed, limits.identifierBytesMax, pointer);
  return trimmed;
}

/** As `identifier`, and `null` for a member that is absent or `null`. */
export function optionalIdentifier(value: string | null | undefined, pointer: string): string | null {
  return value === undefined || value === null ? null : identifier(value, pointer);
}

/**
 * An identifier that is also one segment of a path: none of `/ \ % ? #`, neither `.` nor `..`, no invisible character,
 * and in Unicode's composed form (NFC), as the routes demand: a name that no path can carry is refused when it is written.
 */
export function pathIdentifier(value: string, pointer: string): string {
  const name = identifier(value, pointer);
  if (/[/\\%?#\p{C}]/u.test(name) || name === '.' || name === '..' || name !== name.normalize('NFC')) {
    throw invalidMember(pointer, 'must be a single path segment', 'invalid_path_segment');
  }
  return name;
}

/** Refuses control characters and lone surrogates, which no stored text may hold where it is compared or sorted. */
export function checkText(value: string, pointer: string): void {
  if (CONTROL.test(value)) throw invalidMember(pointer, 'must not hold control characters');
  if (!value.isWellFormed()) throw invalidMember(pointer, 'must be well-formed Unicode');
}

/**
 * As `checkText`, for a text that people read: it may hold tabs and line breaks (LF, CR). The refusal names the first other
 * control character and its place, in UTF-16 units from 0.
 */
export function checkProse(value: string, pointer: string): void {
  const at = value.search(CONTROL_IN_PROSE);
  if (at >= 0) {
    const code = value.charCodeAt(at).toString(16).toUpperCase().padStart(4, '0');
    throw invalidMember(pointer, `must not hold the control character U+${code} at position ${at}`);
  }
  if (!value.isWellFormed()) throw invalidMember(pointer, 'must be well-formed Unicode');
}

/** Refuses a text of more than `bytesMax` bytes of UTF-8. */
export function checkBytes(value: string, bytesMax: number, pointer: string): void {
  if (Buffer.byteLength(value) > bytesMax) {
    throw invalidMember(pointer, `must be at most ${bytesMax} bytes of UTF-8`, 'limit_exceeded');
  }
}
