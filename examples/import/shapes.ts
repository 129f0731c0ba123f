/** The documents, keys and commits of a staged import. Pure. */
import { createHash } from 'node:crypto';
import type { Mutation, NewDocument, Precondition, StoredDocument, Transaction } from './client.ts';

/** One per source, under the source's id: the import that readers see. Nothing else decides visibility. */
export const MANIFEST_TYPE = 'canon.source.manifest';
/** One per import, under the import's id: its progress. Readers never read it. */
export const IMPORT_TYPE = 'canon.source.import';
export const PUBLISHED_TOPIC = 'canon.source.published';
export const VERSION_FENCE = 'canon.source.version';
/** The value of the index `cleanUp` in the record of an import whose documents must be deleted. */
export const CLEAN_UP_DUE = 'due';

/** The limit of one transaction. */
export const CHUNK_MUTATIONS_MAX = 100;
/** A transaction takes 3 MiB of data; the members that the import adds must fit too. */
export const CHUNK_BYTES_MAX = 2 * 1024 * 1024;

/** One version of a source and one attempt to import it. */
export interface ImportName {
  /**
   * Chosen once and stored with the job, so that a resumed import uses the same id. A second attempt needs a new id.
   */
  readonly importId: string;
  readonly sourceId: string;
  readonly sourceVersion: number;
}

/** The known facts of a version before its first document is read. */
export interface SourceFacts extends ImportName {
  readonly expectedCount: number;
  readonly sourceHash: string;
}

export interface Source extends SourceFacts {
  /** From the beginning; the same items in the same order each time. */
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

/**
 * `staging` becomes `published` or `abandoned`; `published` becomes `superseded` when another version is published.
 */
export type ImportState = 'staging' | 'published' | 'superseded' | 'abandoned';

export interface ImportRecord extends SourceFacts {
  readonly state: ImportState;
  /** Whether the documents of a superseded or abandoned import are deleted. */
  readonly removed: boolean;
}

export interface Manifest extends SourceFacts {
  /** Readers see the documents of `importId` while this is `published`. */
  readonly status: string;
}

/** The characters allow a name in ids, keys and fences, and keep the separator unambiguous. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const VERSION_DIGITS = 12;

/** Throws a `RangeError` for names and versions that ids and keys cannot carry. */
export function checkFacts({ importId, sourceId, sourceVersion, expectedCount }: SourceFacts): void {
  for (const [field, name] of Object.entries({ importId, sourceId })) {
    if (!NAME.test(name)) throw new RangeError(`${field} must be 1 to 64 of A-Z a-z 0-9 . _ -`);
  }
  if (!isWhole(sourceVersion) || sourceVersion >= 10 ** VERSION_DIGITS) {
    throw new RangeError(`sourceVersion must be a whole number of at most ${VERSION_DIGITS} digits`);
  }
  if (!isWhole(expectedCount)) throw new RangeError('expectedCount must be a whole number');
}

/** The version padded to one width, so that versions sort as text like numbers. */
export function paddedVersion(sourceVersion: number): string {
  return String(sourceVersion).padStart(VERSION_DIGITS, '0');
}

/** Each import has its own documents, so that versions exist side by side until readers switch. */
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

/** Cuts the items into chunks by their content alone: the same items make the same chunks in every attempt. */
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

/** Each commit of the import has an idempotency key derived from its purpose, so it takes effect once. */
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

/** Abandons the import if its record is unchanged. */
export function abandonTransaction(tenantId: string, record: ImportRecord, revision: number): Transaction {
  return recordTransaction(tenantId, 'abandon', { ...record, state: 'abandoned' }, revision);
}

/** Records that its documents are deleted, if its record is unchanged. */
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

/** Deletes documents of one import. A staged document is deleted once, so its name makes the key. */
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
  /** The import was abandoned. */
  | 'abandoned';

export type Publication =
  | { readonly kind: 'commit'; readonly transaction: Transaction }
  | { readonly kind: 'published' }
  | { readonly kind: 'refused'; readonly reason: Refusal };

/** Decides the publication step from the current import record and the source's current manifest. */
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
  // The fence decides about equal versions: it also covers versions that were current earlier.
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

/** The commit that makes an import visible: manifest, fence, event and the states of both imports, atomically. */
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
        // An owner may repeat its claim: so the owner must be this import, never the manifest that all imports share.
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
    // No index importId: that index finds and counts staged documents only.
    indexes: { sourceId, sourceVersion: paddedVersion(sourceVersion), status },
  };
}

/** Whether unneeded documents of the import may exist. */
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

/** Pick these members only: a source object may carry more. */
function factsOf({ importId, sourceId, sourceVersion, expectedCount, sourceHash }: SourceFacts): SourceFacts {
  return { importId, sourceId, sourceVersion, expectedCount, sourceHash };
}

function isWhole(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}
