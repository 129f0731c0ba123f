import type { DocumentSnapshot, Timestamp } from '@google-cloud/firestore';
import {
  type KeyRequest,
  type Listing,
  type Part,
  type RecordData,
  type RecordKey,
  type RecordView,
  StoreError,
} from '../port.ts';
import { dueTime } from './entries.ts';
import { decodeNames, decodeText, type Fields, LANE } from './layout.ts';

/** A record's document as it was read, with the facts that a write needs. */
export interface Stored {
  readonly key: RecordKey;
  readonly path: string;
  readonly updateTime: Timestamp;
  readonly fields: Fields;
}

const smallFields = ['head', 'group', 'listingId', 'hidden', 'due', 'writtenBy'];
const writeFields = ['continuations', 'orderBytes', 'partOrderBytes', 'searched'];
const bodyFields = [...smallFields, ...writeFields, 'body', 'indexes'];

/** One mask serves a whole BatchGet, so it is the widest view that any key asks for. */
export function fieldsOf(view: RecordView): string[] {
  if (view === 'head') return [...smallFields, ...writeFields];
  return view === 'body' ? bodyFields : [...bodyFields, 'parts', 'partOrder'];
}

/** A list checks each document by its indexes, also when it returns heads alone. */
export function listFieldsOf(view: 'head' | 'body'): string[] {
  return view === 'head' ? [...smallFields, ...writeFields, 'indexes'] : bodyFields;
}

const width: Readonly<Record<RecordView, number>> = { head: 0, body: 1, parts: 2 };

export function widest(views: readonly RecordView[]): RecordView {
  return views.reduce((wide, view) => (width[view] > width[wide] ? view : wide), 'head');
}

export interface AskedKey {
  readonly key: RecordKey;
  readonly view: RecordView;
  readonly expectAbsent: boolean;
  readonly unguarded: boolean;
}

/**
 * A key asked for twice is read once, with the wider view. It is expected absent, or unguarded, only if every request says
 * so. An unguarded key is always read, since no Commit checks it.
 */
export function distinctKeys(keys: readonly KeyRequest[]): AskedKey[] {
  const distinct = new Map<string, AskedKey>();
  for (const { key, view = 'head', expectAbsent = false, unguarded = false } of keys) {
    const before = distinct.get(nameOf(key));
    distinct.set(nameOf(key), {
      key,
      view: before === undefined ? view : widest([before.view, view]),
      expectAbsent: expectAbsent && !unguarded && (before?.expectAbsent ?? true),
      unguarded: unguarded && (before?.unguarded ?? true),
    });
  }
  return [...distinct.values()];
}

export function nameOf(key: RecordKey): string {
  return `${key.collection}/${key.id}`;
}

export function storedOf(snapshot: DocumentSnapshot, key: RecordKey): Stored | undefined {
  const data = snapshot.data();
  const { updateTime } = snapshot;
  if (data === undefined || updateTime === undefined) return undefined;
  if (typeof data['head'] !== 'object' || data['head'] === null) {
    throw new StoreError('corrupt', `${snapshot.ref.path} is not a record`);
  }
  return { key, path: snapshot.ref.path, updateTime, fields: data as Fields };
}

/**
 * The record as the port shows it. A head view leaves body and listing out rather than null, so that writing it back
 * keeps them; `due` is in every view, because a write without it would make the record never due.
 */
export function recordOf(
  stored: Stored,
  view: RecordView,
  continuations: readonly Fields[] = [],
): RecordData {
  const { key, fields } = stored;
  const due = fields.due?.[LANE];
  const small = { key, head: decodeNames(fields.head), due: due === undefined ? null : dueTime(due) };
  if (view === 'head') return small;
  const body = fields.body === undefined ? null : decodeText(fields.body);
  const record = { ...small, body, listing: listingOf(fields) };
  if (view === 'body') return record;
  return { ...record, parts: [fields, ...continuations].flatMap(partsOf) };
}

export function listingOf(fields: Fields): Listing | null {
  const { group, listingId, hidden = false, indexes = {} } = fields;
  if (group === undefined || listingId === undefined) return null;
  return { group, id: listingId, hidden, indexes: decodeNames(indexes) };
}

function partsOf({ parts = {}, partOrder = {} }: Fields): Part[] {
  return Object.entries(parts).map(([of, body]) => ({
    of,
    order: partOrder[of] ?? '',
    body: decodeText(body),
  }));
}
