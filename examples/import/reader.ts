/** Reads published sources: the manifest first, then the documents of its import only. */
import type { StoredDocument, TenantClient } from './client.ts';
import { MANIFEST_TYPE, type Manifest, manifestOf, stagedId } from './shapes.ts';

export interface SourceFilter {
  readonly documentType?: string;
  /** The indexes of the items. */
  readonly indexes?: Readonly<Record<string, string>>;
}

/** Another version was published during the read: a clean-up may have deleted documents that the read missed. */
export class SupersededError extends Error {
  constructor({ sourceId, sourceVersion }: Manifest) {
    super(`version ${sourceVersion} of ${sourceId} was superseded while it was read`);
    this.name = 'SupersededError';
  }
}

const PAGE = 1000;
const ATTEMPTS_MAX = 10;

/** The version of a source that readers see now; `null` if none is published. */
export async function resolveManifest(client: TenantClient, sourceId: string): Promise<Manifest | null> {
  const document = await client.read(MANIFEST_TYPE, sourceId);
  const manifest = document === null ? null : manifestOf(document);
  return manifest?.status === 'published' ? manifest : null;
}

/**
 * The documents of a manifest's import, page by page. Ends normally only if the manifest still names that import
 * after the last page, and throws `SupersededError` otherwise.
 */
export async function* pagesOf(
  client: TenantClient,
  manifest: Manifest,
  { documentType, indexes }: SourceFilter = {},
): AsyncGenerator<readonly StoredDocument[], void> {
  const query = { indexes: { ...indexes, importId: manifest.importId }, limit: PAGE };
  yield* client.pages(documentType === undefined ? query : { ...query, documentType });
  await checkCurrent(client, manifest);
}

/**
 * All documents of the published version of a source; `null` if none is published. Starts again after a supersession.
 */
export async function readSource(
  client: TenantClient,
  sourceId: string,
  filter: SourceFilter = {},
): Promise<{ readonly manifest: Manifest; readonly documents: readonly StoredDocument[] } | null> {
  return whileCurrent(client, sourceId, async (manifest) => {
    const documents: StoredDocument[] = [];
    for await (const page of pagesOf(client, manifest, filter)) documents.push(...page);
    return { manifest, documents };
  });
}

/** One published item; `null` if the published version does not contain it. */
export async function readItem(
  client: TenantClient,
  sourceId: string,
  documentType: string,
  itemId: string,
): Promise<StoredDocument | null> {
  return whileCurrent(client, sourceId, async (manifest) => {
    const document = await client.read(documentType, stagedId(manifest.importId, itemId));
    if (document !== null && !document.deleted) return document;
    // The item is absent, or a clean-up has just deleted it.
    await checkCurrent(client, manifest);
    return null;
  });
}

async function whileCurrent<T>(
  client: TenantClient,
  sourceId: string,
  read: (manifest: Manifest) => Promise<T>,
): Promise<T | null> {
  for (let attempt = 1; ; attempt++) {
    const manifest = await resolveManifest(client, sourceId);
    if (manifest === null) return null;
    try {
      return await read(manifest);
    } catch (error) {
      if (!(error instanceof SupersededError) || attempt === ATTEMPTS_MAX) throw error;
    }
  }
}

async function checkCurrent(client: TenantClient, manifest: Manifest): Promise<void> {
  const now = await resolveManifest(client, manifest.sourceId);
  if (now?.importId !== manifest.importId) throw new SupersededError(manifest);
}
