import type { JsonObject } from '../../kernel/canonical-json.ts';
import { type JsonMember, membersOf, objectOf } from '../../kernel/json-slices.ts';
import { bytesOf, floatsOf } from '../../store/nearest/float-bytes.ts';
import { float32Texts } from './snapshot/float32-text.ts';
import type { RecordVector } from './vectors.ts';

/** The beginning of a packed vector; base64 of little-endian float32 values follows. */
const PACKED = '{"values":"';

/** The text of vectors in the store, in the order of `members`, which name them. */
export function packedVectors(
  members: readonly JsonMember[],
  vectors: ReadonlyMap<string, RecordVector>,
): string {
  return objectOf(
    members.flatMap(({ name }) => {
      const vector = vectors.get(name);
      return vector === undefined ? [] : [{ name, value: packedVector(vector) }];
    }),
  );
}

function packedVector({ values, ...facts }: RecordVector): string {
  const { dimensions, model, datatype, distanceFunction, generatedAt, sourceField } = facts;
  const ordered = { dimensions, model, datatype, distanceFunction, generatedAt, sourceField };
  const bytes = bytesOf(values);
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
  return `${PACKED}${text}",${JSON.stringify(ordered).slice(1)}`;
}

/** The text of packed vectors in answers: each number is the shortest decimal that reads back as its float32. */
export function printedVectors(packed: string): string {
  return replaced(packed, float32Texts);
}

/** The same text with the numbers as doubles, for values whose spelling no caller sees. */
export function unpackedVectors(packed: string): string {
  return replaced(packed, (values) => values.join(','));
}

/** The numbers of one of the vectors; `null` if there is no such vector. */
export function packedValues(packed: string, vector: string): Float32Array | null {
  if (packed === 'null') return null;
  const found = membersOf(packed).find(({ name }) => name === vector);
  return found === undefined ? null : valuesIn(found.value).values;
}

/** Parsed packed vectors with their numbers unpacked. A vector without a packed text has no numbers. */
export function unpackedFloats(vectors: JsonObject): Readonly<Record<string, object>> {
  const entries = Object.entries(vectors).map(([name, vector]) => {
    const { values = null, ...facts } = vector as JsonObject;
    const bytes = Buffer.from(typeof values === 'string' ? values : '', 'base64');
    return [name, { ...facts, values: floatsOf(bytes, Math.floor(bytes.byteLength / 4)) }] as const;
  });
  return Object.fromEntries(entries);
}

function replaced(packed: string, print: (values: Float32Array) => string): string {
  if (packed === 'null') return packed;
  return objectOf(
    membersOf(packed).map(({ name, value }) => {
      const { values, end } = valuesIn(value);
      return { name, value: `{"values":[${print(values)}]${value.slice(end + 1)}` };
    }),
  );
}

/** The numbers of a packed vector, and where their text ends. */
function valuesIn(vector: string): { readonly values: Float32Array; readonly end: number } {
  const end = vector.indexOf('"', PACKED.length);
  const bytes = Buffer.from(vector.slice(PACKED.length, end), 'base64');
  return { values: floatsOf(bytes, bytes.byteLength / 4), end };
}
