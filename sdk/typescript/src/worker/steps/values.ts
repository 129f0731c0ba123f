import type { JsonObject, JsonValue } from '../../generated/models.ts';

/** Values of a journal: what JSON can hold without loss. */

const NESTING_MAX = 200;
const VALUE_BYTES_MAX = 1_048_576;

/** A value that JSON would change. `pointer` is its place. */
export class StepValueError extends TypeError {
  override readonly name = 'StepValueError';
  readonly pointer: string;

  constructor(pointer: string, why: string) {
    super(`${pointer === '' ? 'The value' : `The value at ${pointer}`} ${why}`);
    this.pointer = pointer;
  }
}

/** A copy of the value, so that later changes by the handler reach no journal. Refuses what JSON would lose. */
export function jsonCopy(value: unknown): JsonValue {
  return value === undefined ? null : copyOf(value, { pointer: '', above: [] });
}

interface Place {
  readonly pointer: string;
  /** The objects around the value. */
  readonly above: readonly object[];
}

function copyOf(value: unknown, place: Place): JsonValue {
  if (value === null || typeof value === 'boolean') return value;
  if (typeof value === 'string') {
    if (/\p{Cs}/u.test(value)) throw new StepValueError(place.pointer, 'holds a lone surrogate.');
    return value;
  }
  if (typeof value === 'number') {
    if (!Number.isFinite(value))
      throw new StepValueError(place.pointer, `is ${value}, which JSON cannot say.`);
    return value === 0 ? 0 : value;
  }
  if (value === undefined) throw new StepValueError(place.pointer, 'is absent, which a list cannot say.');
  if (typeof value !== 'object') throw new StepValueError(place.pointer, `is a ${typeof value}.`);
  const { pointer, above } = place;
  if (above.includes(value)) throw new StepValueError(pointer, 'holds itself.');
  if (above.length >= NESTING_MAX)
    throw new StepValueError(pointer, `is nested in more than ${NESTING_MAX} levels.`);
  const inside = { pointer, above: [...above, value] };
  return Array.isArray(value) ? listOf(value, inside) : objectOf(value, inside);
}

function listOf(list: readonly unknown[], { pointer, above }: Place): JsonValue[] {
  return Array.from(list, (item, at) => copyOf(item, { pointer: `${pointer}/${at}`, above }));
}

function objectOf(object: object, { pointer, above }: Place): JsonObject {
  const prototype: unknown = Object.getPrototypeOf(object);
  // A plain object of another realm has a prototype without a prototype, too.
  const isPlain = prototype === null || Object.getPrototypeOf(prototype) === null;
  if (!isPlain || Object.prototype.toString.call(object) !== '[object Object]')
    throw new StepValueError(
      pointer,
      `is ${kindOf(object)}, which JSON would change. Give a codec, or a plain object.`,
    );
  const copy: Record<string, JsonValue> = {};
  for (const [name, member] of Object.entries(object)) {
    if (member === undefined) continue;
    const at = `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    if (/\p{Cs}/u.test(name)) throw new StepValueError(at, 'has a lone surrogate in its name.');
    const value = copyOf(member, { pointer: at, above });
    // An assignment to this name would set the prototype.
    if (name === '__proto__')
      Object.defineProperty(copy, name, { value, writable: true, enumerable: true, configurable: true });
    else copy[name] = value;
  }
  return copy;
}

function kindOf(object: object): string {
  const { constructor } = object as { readonly constructor?: unknown };
  return typeof constructor === 'function' && constructor.name !== ''
    ? `a ${constructor.name}`
    : 'no plain object';
}

/** The bytes of a text in UTF-8. */
export function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}

/** The bytes of a value as JSON. Throws where it is larger than a checkpoint may be. */
export function valueBytes(value: JsonValue): number {
  const bytes = bytesOf(JSON.stringify(value));
  if (bytes > VALUE_BYTES_MAX)
    throw new StepValueError(
      '',
      `has ${bytes} bytes as JSON; ${VALUE_BYTES_MAX} are the limit. Keep it with context.putArtifact.`,
    );
  return bytes;
}
