import { invalidMember, pointerTo } from '../kernel/errors.ts';
import { identifier, pathIdentifier } from '../kernel/identifiers.ts';
import { formatUtc, parseUtc } from '../kernel/timestamp.ts';

/**
 * Checks of restored values. The service trims and normalizes a request. It refuses a snapshot that needs this, because equal
 * content must have equal text.
 */
export type Members = Readonly<Record<string, unknown>>;

/** Returns the value as an object. Throws unless it has exactly these members. */
export function members(value: unknown, names: readonly string[], pointer: string): Members {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalidMember(pointer, 'must be an object');
  }
  for (const member of names) {
    if (!Object.hasOwn(value, member)) throw invalidMember(pointerTo(pointer, member), 'is missing');
  }
  // An error names the object of an unknown member, not the member: its name is as untrusted as a value.
  if (Object.keys(value).length !== names.length) throw invalidMember(pointer, 'has an unknown member');
  return value as Members;
}

export function list(value: unknown, most: number, pointer: string): readonly unknown[] {
  if (!Array.isArray(value)) throw invalidMember(pointer, 'must be a list');
  if (value.length > most) {
    throw invalidMember(pointer, `must hold at most ${most} items`, 'limit_exceeded');
  }
  return value as readonly unknown[];
}

export function text(value: unknown, pointer: string): string {
  if (typeof value !== 'string') throw invalidMember(pointer, 'must be a string');
  return value;
}

/** An identifier as the service stores it: without white space at its ends. */
export function name(value: unknown, pointer: string): string {
  const given = text(value, pointer);
  if (identifier(given, pointer) !== given)
    throw invalidMember(pointer, 'must not have white space around it');
  return given;
}

export function pathName(value: unknown, pointer: string): string {
  pathIdentifier(name(value, pointer), pointer);
  return value as string;
}

export function nullOr<T>(
  check: (value: unknown, pointer: string) => T,
  value: unknown,
  pointer: string,
): T | null {
  return value === null ? null : check(value, pointer);
}

/** A moment exactly as the service writes it. */
export function moment(value: unknown, pointer: string): string {
  const given = text(value, pointer);
  const milliseconds = parseUtc(given);
  if (milliseconds === undefined || formatUtc(milliseconds) !== given) {
    throw invalidMember(pointer, 'must be a UTC moment with milliseconds');
  }
  return given;
}

export function count(value: unknown, least: number, most: number, pointer: string): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < least) {
    throw invalidMember(pointer, `must be a whole number from ${least}`);
  }
  if (value > most) throw invalidMember(pointer, `must be at most ${most}`, 'limit_exceeded');
  return value;
}

export function flag(value: unknown, pointer: string): boolean {
  if (typeof value !== 'boolean') throw invalidMember(pointer, 'must be true or false');
  return value;
}

export function textMap(value: unknown, pointer: string): Readonly<Record<string, string>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalidMember(pointer, 'must be an object');
  }
  for (const [member, held] of Object.entries(value)) text(held, pointerTo(pointer, member));
  return value as Readonly<Record<string, string>>;
}

const HASH = /^sha256:[0-9a-f]{64}$/;

export function hashText(value: unknown, pointer: string): string {
  const given = text(value, pointer);
  if (!HASH.test(given)) throw invalidMember(pointer, 'must be sha256: and 64 hexadecimal digits');
  return given;
}

/** Throws unless `value` equals `fixed`, the only value that the rest of the archive permits. */
export function same(value: unknown, fixed: unknown, what: string, pointer: string): void {
  if (value !== fixed) throw invalidMember(pointer, `must be ${what}`);
}

/**
 * Throws unless the value is JSON that has a canonical text and is nested at most `depthMax` levels deep. A value from a strict
 * parser always has a canonical text; a value that code has built may have none.
 */
export function plainJson(value: unknown, depthMax: number): void {
  if (typeof value === 'string') {
    if (!value.isWellFormed()) throw invalidMember('', 'must hold well-formed Unicode only');
  } else if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw invalidMember('', 'must hold finite numbers only');
  } else if (typeof value === 'object' && value !== null) {
    if (depthMax === 0) throw invalidMember('', 'is nested too deeply', 'limit_exceeded');
    if (Object.hasOwn(value, '__proto__')) throw invalidMember('', 'must not hold a member named __proto__');
    if (Array.isArray(value)) {
      for (const held of value) plainJson(held, depthMax - 1);
      return;
    }
    for (const [member, held] of Object.entries(value)) {
      plainJson(member, depthMax);
      plainJson(held, depthMax - 1);
    }
  } else if (typeof value !== 'boolean' && value !== null) {
    throw invalidMember('', 'must hold JSON only');
  }
}
