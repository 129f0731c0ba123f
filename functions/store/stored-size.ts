import type { ByteOwner, Head, RecordData } from './port.ts';

/** The member of a head with the counted bytes of its record. Releases before 0.6.0 wrote none: their records count as 0. */
const BYTES = 'countedBytes';
/** The owner of the bytes, when the record's scope does not name it. */
const OWNER = 'countedFor';

/** The counted bytes of a record at its last write. */
export interface Counted {
  readonly bytes: number;
  readonly owner: ByteOwner | null;
}

const NOTHING: Counted = { bytes: 0, owner: null };

/** `scopeOwner` is the owner of all records of the scope, `null` in the scopes of the service. */
export function countedIn(record: RecordData | undefined, scopeOwner: ByteOwner | null): Counted {
  const bytes = record?.head[BYTES];
  if (typeof bytes !== 'number' || !(bytes > 0)) return NOTHING;
  return { bytes, owner: scopeOwner ?? ownerNamed(record?.head[OWNER]) };
}

/** The write with its count in the head. Without an owner it has none. */
export function withCount(
  put: RecordData,
  { bytes, owner }: Counted,
  scopeOwner: ByteOwner | null,
): RecordData {
  if (bytes === 0 || owner === null) {
    return BYTES in put.head ? { ...put, head: uncounted(put.head) } : put;
  }
  // Literal names: every write comes through here, and computed ones cost a tenth of a commit.
  const head: Head =
    scopeOwner === null
      ? { ...put.head, countedBytes: bytes, countedFor: `${owner.kind}/${owner.name}` }
      : { ...put.head, countedBytes: bytes };
  return { ...put, head };
}

/** Key, times and index entries of a record without any text. */
const RECORD_BYTES = 256;

/** The facts of the record alone, as they were written. */
export function uncounted({ [BYTES]: _bytes, [OWNER]: _owner, ...head }: Head): Head {
  return head;
}

/**
 * The bytes of a written record: its texts and parts as UTF-8, four bytes for each number of its vectors, its bytes in the
 * blob store, and 256 bytes for the record itself. `null` when the write keeps the stored text.
 */
export function sizeOf({ keptOutside, ...record }: RecordData): number | null {
  const inside = sizeInside(record);
  return inside === null ? null : inside + (keptOutside?.bytes ?? 0);
}

/** The bytes that a write transfers: the record with its texts, and its new bytes in the blob store. */
export function writtenBy({ keptOutside, ...record }: RecordData): number {
  const outside = keptOutside?.isNew === true ? keptOutside.bytes : 0;
  return (sizeInside(record) ?? RECORD_BYTES) + outside;
}

function sizeInside({ head, body, parts = [], search }: RecordData): number | null {
  if (body === undefined) return null;
  let facts = 0;
  for (const name in head) {
    const fact = head[name];
    if (typeof fact === 'string') facts += fact.length;
  }
  const texts = parts.reduce(
    (sum, part) => sum + Buffer.byteLength(part.body),
    Buffer.byteLength(body ?? ''),
  );
  const numbers = (search?.vectors ?? []).reduce((sum, { values }) => sum + values.length, 0);
  return RECORD_BYTES + facts + texts + 4 * numbers;
}

function ownerNamed(text: unknown): ByteOwner | null {
  const [, kind, name] = typeof text === 'string' ? (/^(tenants|spaces)\/(.*)$/s.exec(text) ?? []) : [];
  return kind === undefined || name === undefined ? null : { kind: kind as ByteOwner['kind'], name };
}
