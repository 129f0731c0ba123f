import { CanonicalText, canonicalJson } from './canonical-json.ts';
import { sortedInSteps } from './sorted-in-steps.ts';

/** A step writes about this number of values: a millisecond. */
const STEP_VALUES = 2_048;

/** As `canonicalJson`, in steps: a value of 900 kB may hold 400,000 values, which take 50 ms. */
export function* canonicalInSteps(value: unknown): Generator<void, string> {
  if (typeof value !== 'object' || value === null || valuesIn(value, STEP_VALUES) < STEP_VALUES)
    return canonicalJson(value);
  yield;
  const isList = Array.isArray(value);
  const object = value as Readonly<Record<string, unknown>>;
  const texts: string[] = [];
  let values = 0;
  for (const name of isList ? value.keys() : yield* namesOf(object)) {
    const member = object[name];
    if (member === undefined && !isList) continue;
    const count = valuesIn(member, STEP_VALUES);
    const text = count < STEP_VALUES ? canonicalJson(member) : yield* canonicalInSteps(member);
    texts.push(isList ? text : `${canonicalJson(name)}:${text}`);
    values += count;
    if (values < STEP_VALUES) continue;
    values = 0;
    yield;
  }
  return isList ? `[${texts.join(',')}]` : `{${texts.join(',')}}`;
}

/** The names of an object in the order of their UTF-16 code units. */
function* namesOf(object: object): Generator<void, readonly string[]> {
  const names = Object.keys(object);
  if (names.length < STEP_VALUES) return names.sort();
  return yield* sortedInSteps(names, (left, right) => (left < right ? -1 : Number(left > right)));
}

/** The number of values in a value, itself included; counts no further than `most`. */
function valuesIn(value: unknown, most: number): number {
  if (typeof value !== 'object' || value === null || value instanceof CanonicalText) return 1;
  let values = 1;
  if (Array.isArray(value)) {
    for (const item of value) {
      if (values >= most) return most;
      values += valuesIn(item, most - values);
    }
    return values;
  }
  for (const name in value) {
    if (values >= most) return most;
    values += valuesIn((value as Readonly<Record<string, unknown>>)[name], most - values);
  }
  return values;
}
