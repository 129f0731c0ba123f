import { float32Text } from './float32-text.ts';
import { isOrderedObject, type OrderedJson, type OrderedObject } from './ordered-json.ts';
import { snapshotJson, snapshotObject, snapshotString } from './snapshot-json.ts';
import { normalTime } from './wire-time.ts';

/** How the hash writes one member; `undefined` stands for a member that the record lacks. */
type Writer = (value: OrderedJson | undefined) => string;
type Members = readonly (readonly [name: string, write: Writer])[];

const plain: Writer = (value) => snapshotJson(value ?? null);
const time: Writer = (value) =>
  typeof value === 'string' ? snapshotString(normalTime(value)) : plain(value);
const withDefault =
  (text: OrderedJson): Writer =>
  (value) =>
    snapshotJson(value ?? text);

const numbers: Writer = (value) => {
  const values = isList(value) ? value : [];
  return `[${values.map((each) => float32Text(Number(each))).join(',')}]`;
};

const vectorMembers: Members = [
  ['values', numbers],
  ['dimensions', withDefault(0)],
  ['model', plain],
  ['datatype', withDefault('float32')],
  ['distanceFunction', withDefault('cosine')],
  ['generatedAt', time],
  ['sourceField', plain],
];

const spanMembers: Members = [
  ['charStart', plain],
  ['charEnd', plain],
  ['line', plain],
  ['column', plain],
  ['anchor', plain],
];

const sourceMembers: Members = [
  ['id', plain],
  ['kind', plain],
  ['uri', plain],
  ['label', plain],
  ['span', (value) => (isOrderedObject(value) ? open(value, spanMembers) : plain(value))],
];

const recordMembers: Members = [
  ['id', plain],
  ['partitionKey', plain],
  ['type', withDefault('')],
  ['schemaVersion', plain],
  ['metadata', plain],
  ['content', plain],
  ['sources', (value) => (isList(value) ? `[${value.map(sourceText).join(',')}]` : plain(value))],
  ['vectors', (value) => (isOrderedObject(value) ? vectorsText(value) : plain(value))],
  ['etag', plain],
  ['revision', plain],
  ['createdAt', time],
  ['updatedAt', time],
];

/** The text of a record in the hash of a snapshot: known members in one order, then all others in the document's. */
export function recordText(record: OrderedJson): string {
  return isOrderedObject(record) ? open(record, recordMembers) : plain(record);
}

function sourceText(source: OrderedJson): string {
  return isOrderedObject(source) ? open(source, sourceMembers) : plain(source);
}

/** Vectors have no members beside the known ones. */
function vectorsText(vectors: OrderedObject): string {
  return snapshotObject(
    [...vectors].map(([name, vector]) => [
      name,
      isOrderedObject(vector) ? snapshotObject(known(vector, vectorMembers)) : plain(vector),
    ]),
  );
}

function open(object: OrderedObject, members: Members): string {
  const names = new Set(members.map(([name]) => name));
  const others = [...object].filter(([name]) => !names.has(name));
  return snapshotObject([
    ...known(object, members),
    ...others.map(([name, value]) => [name, snapshotJson(value)] as const),
  ]);
}

function known(object: OrderedObject, members: Members): [string, string][] {
  return members.map(([name, write]) => [name, write(object.get(name))]);
}

function isList(value: OrderedJson | undefined): value is readonly OrderedJson[] {
  return Array.isArray(value);
}
