/** How published sources are read: the manifest first, then the documents of its import and no others. */
import type { StoredDocument, TenantClient } from './client.ts';
import { MANIFEST_TYPE, type Manifest, manifestOf, stagedId } from './shapes.ts';

export interface SourceFilter {
  readonly documentType?: string;
  /** Those that the items carry. */
  readonly indexes?: Readonly<Record<string, string>>;
}

/** Another version was published while this one was read: what was read may lack what a clean-up has deleted since. */
export class SupersededError extends Error {
  constructor({ sourceId, sourceVersion }: Manifest) {
    super(`version ${sourceVersion} of ${sourceId} was superseded while it was read`);
    this.name = 'SupersededError';
  }
}

const PAGE = 1000;
const ATTEMPTS_MAX = 10;

/** What readers see of a source now; `null` while nothing is published. */
export async function resolveManifest(client: TenantClient, sourceId: string): Promise<Manifest | null> {
  const document = await client.read(MANIFEST_TYPE, sourceId);
  const manifest = document === null ? null : manifestOf(document);
  return manifest?.status === 'published' ? manifest : null;
}

/**
 * The documents of a manifest's import, page by page. Ends only when all of them were read while the manifest still
 * named that import, and throws `SupersededError` otherwise.
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

/** Everything published of a source, of one version; `null` while nothing is. Begins anew where it was superseded. */
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

/** One item as it is published; `null` where the published version does not have it. */
export async function readItem(
  client: TenantClient,
  sourceId: string,
  documentType: string,
  itemId: string,
): Promise<StoredDocument | null> {
  return whileCurrent(client, sourceId, async (manifest) => {
    const document = await client.read(documentType, stagedId(manifest.importId, itemId));
    if (document !== null && !document.deleted) return document;
    // Not there, or not there any more?
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
