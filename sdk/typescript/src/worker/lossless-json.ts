/** Kinds of values that JSON can hold, as tags of `Object.prototype.toString`. A class without its own tag is an `Object`. */
const WRITTEN: ReadonlySet<string> = new Set(['Object', 'Array', 'String', 'Number', 'Boolean']);

/**
 * The value as JSON text; `undefined` stays `undefined`. Throws where `JSON.stringify` would silently write another value:
 * a number that is not finite, a function, a `Map`, a promise, an error or a date without a time.
 */
export function losslessJson(value: unknown): string | undefined {
  return JSON.stringify(value, checked);
}

function checked(this: Record<string, unknown>, key: string, value: unknown): unknown {
  if (typeof value === 'number' && !Number.isFinite(value)) throw refused(key);
  if (typeof value === 'function' || typeof value === 'symbol') throw refused(key);
  // JSON writes null for an undefined item of an array.
  if (value === undefined && Array.isArray(this)) throw refused(key);
  // A date without a time has become null here.
  const isLost = value === null && this[key] !== null;
  const isForeign = typeof value === 'object' && value !== null && !WRITTEN.has(tagOf(value));
  if (isLost || isForeign) throw refused(key);
  return value;
}

function tagOf(value: object): string {
  return Object.prototype.toString.call(value).slice(8, -1);
}

function refused(key: string): TypeError {
  return new TypeError(`JSON cannot say the value of ${JSON.stringify(key)}`);
}
