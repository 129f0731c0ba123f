import { FieldValue, type Firestore, type WriteBatch } from '@google-cloud/firestore';
import type { Part, RecordData } from '../port.ts';
import { dueEntry, orderEntries } from './entries.ts';
import {
  continuationPath,
  encodeHead,
  encodeNames,
  encodeText,
  type FirestoreValue,
  LANE,
  type StoredFields,
} from './layout.ts';
import type { Stored } from './records.ts';
import { createdEntry, type SearchChange, updatedEntry } from './search-writes.ts';
import type { Session } from './session.ts';
import { documentBytes, indexBytes, messageBytes, utf8Bytes, type Weight } from './size.ts';

/** One document's share of a commit. */
export interface PlannedWrite extends Weight {
  readonly path: string;
  addTo(batch: WriteBatch, db: Firestore): unknown;
}

type Changes = Readonly<Record<string, FirestoreValue | undefined>>;

/** Names of project and database in front of every path of a message, at their longest. */
const rootBytes = 160;

/** The most bytes of parts in a document: the rest is room for its name, framing and all other fields. */
const partBytesMax = 900_000;

/** On the condition that the record does not exist. */
export function createWrites(
  session: Session,
  path: string,
  put: RecordData,
  writtenBy: string,
): PlannedWrite[] {
  const listed = listingChanges(session, path, put);
  const dueKey = put.due ?? null;
  const changes: Changes = {
    head: encodeHead(put.head),
    ...(typeof put.body === 'string' ? { body: encodeText(put.body) } : {}),
    ...listed.changes,
    ...(dueKey === null ? {} : { due: { [LANE]: dueEntry(dueKey, put.listing?.id ?? '', put.key) } }),
    writtenBy,
  };
  const fields = defined(changes);
  const [own = {}, ...more] = splitParts(put.parts ?? [], partBytesMax - messageBytes(path, fields, 0));
  const search = createdEntry(path, put, documentBytes(path, { ...fields, ...own }), more.length);
  const partOrderBytes =
    own['partOrder'] === undefined ? 0 : indexBytes(path, 'partOrder', textMap(own['partOrder']), 2);
  const main: StoredFields = {
    ...fields,
    ...own,
    ...(partOrderBytes > 0 ? { partOrderBytes } : {}),
    ...(more.length > 0 ? { continuations: more.length } : {}),
    ...defined(search.changes),
  };
  const dueBytes = 'due' in fields ? indexBytes(path, 'due', textMap(fields['due']), 1) : 0;
  return [
    newDocument(path, main, listed.indexBytes + partOrderBytes + dueBytes + search.indexBytes),
    ...more.map((part, index) => {
      const continuation = continuationPath(path, index + 1);
      const bytes = indexBytes(continuation, 'partOrder', textMap(part['partOrder']), 2);
      return newDocument(continuation, { ...part, writtenBy }, bytes);
    }),
    ...besideWrites(search, writtenBy),
  ];
}

/**
 * Names only the changed fields, so that an unchanged body is neither sent nor read. Parts never change. The first write
 * is conditioned on the record as it was read, and carries all others with it.
 */
export function updateWrites(
  session: Session,
  stored: Stored,
  put: RecordData,
  writtenBy: string,
): readonly [PlannedWrite, ...PlannedWrite[]] {
  const { fields, path } = stored;
  const listed = put.listing === undefined ? undefined : listingChanges(session, path, put);
  const listingId = put.listing === undefined ? fields.listingId : put.listing?.id;
  const due = put.due ?? null;
  const nextDue = due === null ? undefined : { [LANE]: dueEntry(due, listingId ?? '', put.key) };
  const listedChanges: Changes = {
    head: encodeHead(put.head),
    ...(put.body === undefined ? {} : { body: put.body === null ? undefined : encodeText(put.body) }),
    ...listed?.changes,
    ...(nextDue?.[LANE] === fields.due?.[LANE] ? {} : { due: nextDue }),
    writtenBy,
  };
  const search = updatedEntry(path, fields, put, documentBytes(path, defined(listedChanges)));
  const changes = { ...listedChanges, ...search.changes };
  const freed = listed === undefined ? 0 : (fields.orderBytes ?? 0);
  const dueBytes = 'due' in changes ? dueIndexBytes(path, fields.due) + dueIndexBytes(path, nextDue) : 0;
  const sent = defined(changes);
  const own: PlannedWrite = {
    path,
    message: messageBytes(path, sent, rootBytes) + 20 * Object.keys(changes).length,
    index: freed + (listed?.indexBytes ?? 0) + dueBytes + search.indexBytes,
    document: documentBytes(path, sent) + search.keptBytes,
    addTo(batch, db) {
      const data = Object.fromEntries(
        Object.entries(changes).map(([name, value]) => [
          name,
          value === undefined ? FieldValue.delete() : value,
        ]),
      );
      batch.update(db.doc(path), data, { lastUpdateTime: stored.updateTime });
    },
  };
  return [own, ...besideWrites(search, writtenBy)];
}

/** The document beside the record's own that its search entry has, or had. */
function besideWrites({ beside, left }: SearchChange, writtenBy: string): PlannedWrite[] {
  if (left !== null) return [plain(left, 0, (batch, db) => batch.delete(db.doc(left)))];
  if (beside === null) return [];
  const { path } = beside;
  const fields = { ...beside.fields, writtenBy };
  return [{ ...newDocument(path, fields, 0), addTo: (batch, db) => batch.set(db.doc(path), fields) }];
}

export function removeWrites(stored: Stored): PlannedWrite[] {
  const { fields, path, updateTime } = stored;
  const listed = (fields.orderBytes ?? 0) + (fields.partOrderBytes ?? 0);
  const index = listed + (fields.searched?.indexBytes ?? 0) + dueIndexBytes(path, fields.due);
  return Array.from({ length: 1 + (fields.continuations ?? 0) }, (_, number) => {
    const target = continuationPath(path, number);
    if (number > 0) return plain(target, 0, (batch, db) => batch.delete(db.doc(target)));
    return plain(target, index, (batch, db) => batch.delete(db.doc(target), { lastUpdateTime: updateTime }));
  });
}

/** Writes the same content again: Firestore checks the condition and changes neither document nor update time. */
export function presentGuard({ path, fields, updateTime }: Stored): PlannedWrite {
  return plain(path, 0, (batch, db) => {
    batch.update(db.doc(path), { writtenBy: fields.writtenBy }, { lastUpdateTime: updateTime });
  });
}

/** A delete of a missing document, whose condition proves at the Commit that the document is still missing. */
export function absentGuard(path: string): PlannedWrite {
  return plain(path, 0, (batch, db) => batch.delete(db.doc(path), { exists: false }));
}

function plain(path: string, index: number, addTo: PlannedWrite['addTo']): PlannedWrite {
  return { path, message: messageBytes(path, {}, rootBytes), index, document: 0, addTo };
}

function newDocument(path: string, fields: StoredFields, index: number): PlannedWrite {
  return {
    path,
    message: messageBytes(path, fields, rootBytes),
    index,
    document: documentBytes(path, fields),
    addTo: (batch, db) => batch.create(db.doc(path), fields),
  };
}

function listingChanges(
  session: Session,
  path: string,
  put: RecordData,
): { changes: Changes; indexBytes: number } {
  const listing = put.listing ?? null;
  if (listing === null) {
    const none = { group: undefined, listingId: undefined, hidden: undefined, indexes: undefined };
    return { changes: { ...none, order: undefined, orderBytes: undefined }, indexBytes: 0 };
  }
  const { collection } = put.key;
  const order = orderEntries(listing, session.paired(collection), session.grouped.has(collection));
  const orderBytes = indexBytes(path, 'order', order, 2);
  const { group, id: listingId, hidden } = listing;
  return {
    changes: { group, listingId, hidden, indexes: encodeNames(listing.indexes), order, orderBytes },
    indexBytes: orderBytes,
  };
}

/**
 * Distributes the parts over documents. A document holds one part per key, because the key names the field. The first
 * document is the record's own; a part that fits into no shared document gets its own.
 */
function splitParts(parts: readonly Part[], roomInFirst: number): StoredFields[] {
  const documents: { bodies: Map<string, FirestoreValue>; orders: Map<string, string>; room: number }[] = [
    { bodies: new Map(), orders: new Map(), room: roomInFirst },
  ];
  for (const { of, order, body } of parts) {
    const text = encodeText(body);
    const bytes =
      (typeof text === 'string' ? utf8Bytes(text) : text.byteLength) + 2 * of.length + order.length + 80;
    let document = documents.find(({ bodies, room }) => room >= bytes && !bodies.has(of));
    if (document === undefined) {
      document = { bodies: new Map(), orders: new Map(), room: partBytesMax };
      documents.push(document);
    }
    document.bodies.set(of, text);
    document.orders.set(of, order);
    document.room -= bytes;
  }
  return documents.map(({ bodies, orders }) =>
    bodies.size === 0 ? {} : { parts: Object.fromEntries(bodies), partOrder: Object.fromEntries(orders) },
  );
}

function dueIndexBytes(path: string, due: Readonly<Record<string, string>> | undefined): number {
  return due === undefined ? 0 : indexBytes(path, 'due', due, 1);
}

function defined(changes: Changes): StoredFields {
  return Object.fromEntries(
    Object.entries(changes).filter((entry): entry is [string, FirestoreValue] => entry[1] !== undefined),
  );
}

function textMap(value: FirestoreValue | undefined): Readonly<Record<string, string>> {
  return value as Readonly<Record<string, string>>;
}
