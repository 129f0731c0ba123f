/** The shapes of a staged import: its documents, its keys, and the commits that begin, fill, publish and end it. Pure. */
import { createHash } from 'node:crypto';
import type { Mutation, NewDocument, Precondition, StoredDocument, Transaction } from './client.ts';

/** One a source, its id the source's: which import readers see. Nothing else decides what is visible. */
export const MANIFEST_TYPE = 'canon.source.manifest';
/** One an import, its id the import's: how far it is. Readers never look at it. */
export const IMPORT_TYPE = 'canon.source.import';
export const PUBLISHED_TOPIC = 'canon.source.published';
export const VERSION_FENCE = 'canon.source.version';
/** The value of the index `cleanUp` in the record of an import whose documents are to be deleted. */
export const CLEAN_UP_DUE = 'due';

/** As many as one transaction takes. */
export const CHUNK_MUTATIONS_MAX = 100;
/** A transaction takes 3 MiB of data; what the import adds to each document has to fit as well. */
export const CHUNK_BYTES_MAX = 2 * 1024 * 1024;

/** One version of a source, and the one attempt to import it that this is. */
export interface ImportName {
  /** Chosen once and kept with the job, so that whoever resumes it uses the same. Never used for a second attempt. */
  readonly importId: string;
  readonly sourceId: string;
  readonly sourceVersion: number;
}

/** What is known of a version before its first document is read. */
export interface SourceFacts extends ImportName {
  readonly expectedCount: number;
  readonly sourceHash: string;
}

export interface Source extends SourceFacts {
  /** From the beginning, the same items in the same order each time. */
  items(): AsyncIterable<Item>;
}

export interface Item {
  readonly documentType: string;
  /** Unique within type and source. */
  readonly id: string;
  readonly schemaVersion: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly indexes?: Readonly<Record<string, string>>;
}

export interface Chunk {
  /** From 0. */
  readonly number: number;
  readonly items: readonly Item[];
}

/** `staging` becomes `published` or `abandoned`; `published` becomes `superseded` when another version is published. */
export type ImportState = 'staging' | 'published' | 'superseded' | 'abandoned';

export interface ImportRecord extends SourceFacts {
  readonly state: ImportState;
  /** Whether its documents, which nobody needs once it is superseded or abandoned, are deleted. */
  readonly removed: boolean;
}

export interface Manifest extends SourceFacts {
  /** Readers see the documents of `importId` while this is `published`. */
  readonly status: string;
}

/** Names that may stand in ids, keys and fences beside what is added to them, and are never mistaken for one another. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const VERSION_DIGITS = 12;

/** Throws a `RangeError` for what could not be named later. */
export function checkFacts({ importId, sourceId, sourceVersion, expectedCount }: SourceFacts): void {
  for (const [what, name] of Object.entries({ importId, sourceId })) {
    if (!NAME.test(name)) throw new RangeError(`${what} must be 1 to 64 of A-Z a-z 0-9 . _ -`);
  }
  if (!isWhole(sourceVersion) || sourceVersion >= 10 ** VERSION_DIGITS) {
    throw new RangeError(`sourceVersion must be a whole number of at most ${VERSION_DIGITS} digits`);
  }
  if (!isWhole(expectedCount)) throw new RangeError('expectedCount must be a whole number');
}

/** Of one width, so that versions sort as text the way they sort as numbers. */
export function paddedVersion(sourceVersion: number): string {
  return String(sourceVersion).padStart(VERSION_DIGITS, '0');
}

/** A document of its own for each import, so that versions lie side by side until readers have moved on. */
export function stagedId(importId: string, itemId: string): string {
  return `${importId}:${itemId}`;
}

export function stagedDocument(tenantId: string, name: ImportName, item: Item): NewDocument {
  const { importId, sourceId, sourceVersion } = name;
  const own = { importId, sourceId, sourceVersion: paddedVersion(sourceVersion) };
  const taken = Object.keys(item.indexes ?? {}).filter((index) => Object.hasOwn(own, index));
  if (Object.hasOwn(item.data, 'importId')) taken.push('data.importId');
  if (taken.length > 0)
    throw new RangeError(`item ${item.id} uses ${taken.join(', ')}, which the import sets`);
  return {
    tenantId,
    documentType: item.documentType,
    id: stagedId(importId, item.id),
    schemaVersion: item.schemaVersion,
    data: { ...item.data, importId },
    indexes: { ...item.indexes, ...own },
  };
}

/** Cuts the items into chunks, by what they are alone: the same items make the same chunks in every attempt. */
export async function* chunksOf(items: AsyncIterable<Item>): AsyncGenerator<Chunk, void> {
  let number = 0;
  let chunk: Item[] = [];
  let bytes = 0;
  for await (const item of items) {
    const itemBytes = Buffer.byteLength(JSON.stringify(item.data));
    if (chunk.length === CHUNK_MUTATIONS_MAX || (chunk.length > 0 && bytes + itemBytes > CHUNK_BYTES_MAX)) {
      yield { number: number++, items: chunk };
      chunk = [];
      bytes = 0;
    }
    chunk.push(item);
    bytes += itemBytes;
  }
  if (chunk.length > 0) yield { number, items: chunk };
}

/** Everything the import may do is done once: each commit has the one key that follows from what it does. */
export function beginTransaction(tenantId: string, facts: SourceFacts): Transaction {
  const document = importDocument(tenantId, recordOf(facts, 'staging'));
  return {
    idempotencyKey: `${facts.importId}:begin`,
    mutations: [{ operation: 'upsert', document, precondition: { mustNotExist: true } }],
  };
}

export function chunkTransaction(tenantId: string, name: ImportName, chunk: Chunk): Transaction {
  return {
    idempotencyKey: `${name.importId}:chunk:${String(chunk.number).padStart(9, '0')}`,
    mutations: chunk.items.map((item) => ({
      operation: 'upsert',
      document: stagedDocument(tenantId, name, item),
      precondition: { mustNotExist: true },
    })),
  };
}

/** Gives the import up, provided that nobody changed its record meanwhile. */
export function abandonTransaction(tenantId: string, record: ImportRecord, revision: number): Transaction {
  return recordTransaction(tenantId, 'abandon', { ...record, state: 'abandoned' }, revision);
}

/** Notes that its documents are deleted, provided that nobody changed its record meanwhile. */
export function removedTransaction(tenantId: string, record: ImportRecord, revision: number): Transaction {
  return recordTransaction(tenantId, 'removed', { ...record, removed: true }, revision);
}

function recordTransaction(
  tenantId: string,
  verb: string,
  record: ImportRecord,
  revision: number,
): Transaction {
  const document = importDocument(tenantId, record);
  return {
    idempotencyKey: `${record.importId}:${verb}`,
    mutations: [{ operation: 'upsert', document, precondition: { expectedRevision: revision } }],
  };
}

/** Deletes documents of one import. A staged document is written once and deleted once, so its name makes the key. */
export function deleteTransaction(importId: string, documents: readonly StoredDocument[]): Transaction {
  const names = documents.map(({ documentType, id }) => [documentType, id]);
  const hash = createHash('sha256').update(JSON.stringify(names)).digest('hex');
  return {
    idempotencyKey: `${importId}:delete:${hash}`,
    mutations: documents.map(({ documentType, id }) => ({ operation: 'delete', documentType, id })),
  };
}

export type Refusal =
  /** Readers already see a later version. */
  | 'outdated'
  /** Another import has published this version. */
  | 'version-taken'
  /** Somebody has given this import up. */
  | 'abandoned';

export type Publication =
  | { readonly kind: 'commit'; readonly transaction: Transaction }
  | { readonly kind: 'published' }
  | { readonly kind: 'refused'; readonly reason: Refusal };

/** What is to be done to publish, given the import's record and the source's manifest as they are now. */
export function decidePublication(
  tenantId: string,
  facts: SourceFacts,
  record: StoredDocument,
  manifest: StoredDocument | null,
): Publication {
  const { state } = importOf(record);
  if (state === 'published' || state === 'superseded') return { kind: 'published' };
  if (state === 'abandoned') return { kind: 'refused', reason: 'abandoned' };
  const current = manifest === null ? null : manifestOf(manifest);
  // Of one version twice the fence judges: it also knows the versions that were current once.
  if (current !== null && current.sourceVersion > facts.sourceVersion) {
    return { kind: 'refused', reason: 'outdated' };
  }
  const before = manifest === null ? { mustNotExist: true } : { expectedRevision: manifest.revision };
  const transaction = publishTransaction(tenantId, facts, {
    record: record.revision,
    manifest: before,
    current,
  });
  return { kind: 'commit', transaction };
}

interface Before {
  readonly record: number;
  readonly manifest: Precondition;
  readonly current: Manifest | null;
}

/** The one commit that makes an import visible: manifest, fence, event, and the states of both imports, or nothing. */
function publishTransaction(tenantId: string, facts: SourceFacts, before: Before): Transaction {
  const { importId, sourceId, sourceVersion, expectedCount, sourceHash } = facts;
  const mutations: Mutation[] = [
    {
      operation: 'upsert',
      document: manifestDocument(tenantId, { ...factsOf(facts), status: 'published' }),
      precondition: before.manifest,
    },
    {
      operation: 'upsert',
      document: importDocument(tenantId, recordOf(facts, 'published')),
      precondition: { expectedRevision: before.record },
    },
  ];
  if (before.current !== null) {
    const document = importDocument(tenantId, recordOf(before.current, 'superseded'));
    mutations.push({ operation: 'upsert', document });
  }
  return {
    idempotencyKey: `${importId}:publish`,
    mutations,
    fences: [
      {
        operation: 'claim',
        name: VERSION_FENCE,
        value: `${sourceId}@${paddedVersion(sourceVersion)}`,
        // An owner may repeat its claim: it has to be this import, never the manifest that all imports share.
        ownerDocumentType: IMPORT_TYPE,
        ownerDocumentId: importId,
      },
    ],
    outbox: [
      {
        topic: PUBLISHED_TOPIC,
        key: sourceId,
        payload: { importId, sourceId, sourceVersion, expectedCount, sourceHash },
      },
    ],
  };
}

export function importOf(document: StoredDocument): ImportRecord {
  return document.data as unknown as ImportRecord;
}

/** `null` for a tombstone. */
export function manifestOf(document: StoredDocument): Manifest | null {
  return document.data as unknown as Manifest | null;
}

function manifestDocument(tenantId: string, manifest: Manifest): NewDocument {
  const { sourceId, sourceVersion, status } = manifest;
  return {
    tenantId,
    documentType: MANIFEST_TYPE,
    id: sourceId,
    schemaVersion: '1',
    data: manifest,
    // No index importId: that is what staged documents are found by, and counted.
    indexes: { sourceId, sourceVersion: paddedVersion(sourceVersion), status },
  };
}

/** Whether there may be documents of the import that nobody needs. */
export function isRemovable({ state, removed }: ImportRecord): boolean {
  return (state === 'abandoned' || state === 'superseded') && !removed;
}

function importDocument(tenantId: string, record: ImportRecord): NewDocument {
  const { importId, sourceId, sourceVersion, state } = record;
  const cleanUp = isRemovable(record) ? { cleanUp: CLEAN_UP_DUE } : {};
  return {
    tenantId,
    documentType: IMPORT_TYPE,
    id: importId,
    schemaVersion: '1',
    data: record,
    indexes: { sourceId, sourceVersion: paddedVersion(sourceVersion), state, ...cleanUp },
  };
}

function recordOf(facts: SourceFacts, state: ImportState): ImportRecord {
  return { ...factsOf(facts), state, removed: false };
}

/** These members and no others: a source may carry more. */
function factsOf({ importId, sourceId, sourceVersion, expectedCount, sourceHash }: SourceFacts): SourceFacts {
  return { importId, sourceId, sourceVersion, expectedCount, sourceHash };
}

function isWhole(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}
