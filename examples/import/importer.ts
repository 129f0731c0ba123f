import { forEachBounded } from './bounded.ts';
import { CallError, type StoredDocument, type TenantClient } from './client.ts';
import {
  beginTransaction,
  type Chunk,
  checkFacts,
  chunksOf,
  chunkTransaction,
  decidePublication,
  IMPORT_TYPE,
  MANIFEST_TYPE,
  type Publication,
  type Refusal,
  type Source,
} from './shapes.ts';

export interface ImportOptions {
  /** The number of concurrent chunks. Default 4. */
  readonly chunksAtOnce?: number;
  readonly onProgress?: (progress: ImportProgress) => void;
}

export type ImportProgress =
  /** A chunk is in the store; `answeredBefore` if an earlier attempt stored it. */
  | { readonly step: 'staged'; readonly documents: number; readonly answeredBefore: boolean }
  /** Everything is staged and counted; the next call is the publishing commit. */
  | { readonly step: 'publishing' };

export type ImportOutcome =
  /** Readers see it, or have seen it; `before` if that was already so. */
  | { readonly status: 'published'; readonly before: boolean }
  /** Readers will never see it. `abandonImport` and `removeStaged` delete its documents. */
  | { readonly status: 'refused'; readonly reason: Refusal };

/** The import cannot continue, and a repetition would fail too; nothing was published. */
export class ImportFault extends Error {}

const CHUNKS_AT_ONCE_DEFAULT = 4;
const PUBLISH_ATTEMPTS_MAX = 10;
const COUNT_PAGE = 1000;

/**
 * Imports one version of a source: stages its items, counts them, publishes. A repeated call with the same source
 * continues an interrupted one; concurrent calls have the effect of one. Throws `ImportFault` if the source is
 * invalid or has changed, and `CallError` if the service refuses or stays unreachable.
 */
export async function importSource(
  client: TenantClient,
  source: Source,
  options: ImportOptions = {},
): Promise<ImportOutcome> {
  checkFacts(source);
  await begin(client, source);
  // Check first whether the import is already finished, to save the work.
  const early = await nextStep(client, source);
  if (early.kind !== 'commit') return outcomeOf(early);
  const staged = await stage(client, source, options);
  await verify(client, source, staged);
  options.onProgress?.({ step: 'publishing' });
  return publish(client, source);
}

async function begin(client: TenantClient, source: Source): Promise<void> {
  try {
    await client.commit(beginTransaction(client.tenantId, source));
  } catch (error) {
    if (codeOf(error) !== 'idempotency_conflict') throw error;
    throw new ImportFault(`${source.importId} was begun with another source, version, count or hash`, {
      cause: error,
    });
  }
}

/** Sends every chunk, including stored ones: the answer to a known key is cheap and proves that nothing changed. */
async function stage(client: TenantClient, source: Source, options: ImportOptions): Promise<number> {
  let documents = 0;
  const send = async (chunk: Chunk): Promise<void> => {
    const { replayed } = await commitChunk(client, source, chunk);
    documents += chunk.items.length;
    options.onProgress?.({ step: 'staged', documents, answeredBefore: replayed });
  };
  await forEachBounded(chunksOf(source.items()), options.chunksAtOnce ?? CHUNKS_AT_ONCE_DEFAULT, send);
  return documents;
}

async function commitChunk(client: TenantClient, source: Source, chunk: Chunk) {
  try {
    return await client.commit(chunkTransaction(client.tenantId, source, chunk));
  } catch (error) {
    const where = `chunk ${chunk.number} of ${source.importId}`;
    switch (codeOf(error)) {
      case 'idempotency_conflict':
        throw new ImportFault(`${where} was committed with other content`, { cause: error });
      case 'precondition_failed':
      case 'duplicate_in_request':
        throw new ImportFault(`${where} holds an item that the source holds twice`, { cause: error });
      default:
        throw error;
    }
  }
}

/** Receipts prove that every chunk was committed once; only a read proves that all of it is still stored. */
async function verify(
  client: TenantClient,
  { importId, expectedCount }: Source,
  staged: number,
): Promise<void> {
  if (staged !== expectedCount) {
    throw new ImportFault(`the source promised ${expectedCount} items and gave ${staged}`);
  }
  let stored = 0;
  const pages = client.pages({ indexes: { importId }, limit: COUNT_PAGE });
  for await (const page of pages) stored += page.length;
  if (stored !== expectedCount) {
    throw new ImportFault(`${stored} of ${expectedCount} documents of ${importId} are in the store`);
  }
}

/**
 * Reads the state, decides, commits. A commit against a changed state has no effect, and the loop reads again. The
 * same holds for a key used with another request: another process sent this import's own commit.
 */
async function publish(client: TenantClient, source: Source): Promise<ImportOutcome> {
  for (let attempt = 1; ; attempt++) {
    const step = await nextStep(client, source);
    if (step.kind !== 'commit') return outcomeOf(step);
    try {
      const { replayed } = await client.commit(step.transaction);
      return { status: 'published', before: replayed };
    } catch (error) {
      const code = codeOf(error);
      if (code === 'fence_conflict') return { status: 'refused', reason: 'version-taken' };
      const moved = code === 'precondition_failed' || code === 'idempotency_conflict';
      if (!moved || attempt === PUBLISH_ATTEMPTS_MAX) throw error;
    }
  }
}

/** Read the manifest first: the record, read after it, shows every import published by then. */
async function nextStep(client: TenantClient, source: Source): Promise<Publication> {
  const manifest = await client.read(MANIFEST_TYPE, source.sourceId);
  const record = await client.read(IMPORT_TYPE, source.importId);
  return decidePublication(client.tenantId, source, present(record, source), manifest);
}

function present(record: StoredDocument | null, { importId }: Source): StoredDocument {
  // A receipt proves that the import began: someone has deleted the record or restored an older state of the tenant.
  if (record === null || record.deleted) throw new ImportFault(`the record of ${importId} is gone`);
  return record;
}

function outcomeOf(step: Exclude<Publication, { kind: 'commit' }>): ImportOutcome {
  return step.kind === 'published'
    ? { status: 'published', before: true }
    : { status: 'refused', reason: step.reason };
}

function codeOf(error: unknown): string | null {
  return error instanceof CallError ? error.code : null;
}
