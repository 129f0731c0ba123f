import { FieldPath, Timestamp } from '@google-cloud/firestore';
import type { RecordData, ScanPage, ScanRequest, Scope } from '../port.ts';
import { collectionPath, type Fields, parseDocumentId } from './layout.ts';
import { readContinuations, reading, readKeys } from './read.ts';
import { recordOf, type Stored, storedOf } from './records.ts';
import type { Session } from './session.ts';

/** The position of a resumed scan, valid on every instance: the moment, the generation of that moment, and the last record. */
interface Position {
  readonly seconds: number;
  readonly nanoseconds: number;
  readonly generation: string;
  readonly collection: string;
  readonly id: string;
}

/** The most documents in memory at a time, each of at most a megabyte. */
const documentsMax = 100;

/**
 * Every query reads at the same moment, without a transaction that could expire; Firestore keeps the versions of the last
 * hour, so a scan continues after a restart, and lasts an hour at the most.
 */
export async function* scan(
  session: Session,
  scope: Scope,
  request: ScanRequest,
): AsyncGenerator<ScanPage, void, undefined> {
  const resumed = request.resume === undefined ? undefined : (JSON.parse(request.resume) as Position);
  const start = resumed ?? (await begin(session, scope));
  const collections = [...new Set(request.collections)].sort();
  const size = Math.max(1, Math.min(documentsMax, request.pageSize));
  for (const collection of collections) {
    if (collection < start.collection) continue;
    let after = collection === start.collection ? start.id : '';
    for (;;) {
      const { records, last } = await readPage(session, scope, { ...start, collection, id: after }, size);
      const resume = records.at(-1)?.key.id;
      if (resume !== undefined) {
        yield { records, resume: JSON.stringify({ ...start, collection, id: resume } satisfies Position) };
      }
      if (last) break;
      after = resume ?? after;
    }
  }
}

/** One read of the head gives the moment and the generation, so no swap can happen between them. */
async function begin(session: Session, scope: Scope): Promise<Position> {
  const { at, state } = await readKeys(session, scope, []);
  const { seconds, nanoseconds } = at;
  return { seconds, nanoseconds, generation: state.generation, collection: '', id: '' };
}

/** Continuations sort right after their record; a continuation beyond the page is read by its name. */
async function readPage(
  session: Session,
  scope: Scope,
  { seconds, nanoseconds, generation, collection, id: after }: Position,
  size: number,
): Promise<{ records: RecordData[]; last: boolean }> {
  const readTime = new Timestamp(seconds, nanoseconds);
  const ordered = session.db
    .collection(collectionPath(scope, generation, collection))
    .orderBy(FieldPath.documentId());
  // `~` and the text after it belong to the record itself.
  const from = (after === '' ? ordered : ordered.startAfter(`${after}~~`)).limit(size);
  const { docs } = await reading(
    session,
    session.db.runTransaction((transaction) => transaction.get(from), { readOnly: true, readTime }),
  );
  const gathered: { stored: Stored; more: Fields[] }[] = [];
  for (const document of docs) {
    const { id, number } = parseDocumentId(document.id);
    const current = gathered.at(-1);
    if (number > 0 && current?.stored.key.id === id) {
      current.more.push(document.data() as Fields);
      continue;
    }
    const stored = storedOf(document, { collection, id });
    if (stored !== undefined) gathered.push({ stored, more: [] });
  }
  const records: RecordData[] = [];
  for (const { stored, more } of gathered) {
    const whole = more.length === (stored.fields.continuations ?? 0);
    records.push(
      recordOf(stored, 'parts', whole ? more : await readContinuations(session, stored, readTime)),
    );
  }
  return { records, last: docs.length < size };
}
