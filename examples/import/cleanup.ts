/** Deletes imports that no reader will see: abandoned ones and superseded versions. */
import { CallError, type TenantClient, type Transaction } from './client.ts';
import {
  abandonTransaction,
  CHUNK_MUTATIONS_MAX,
  CLEAN_UP_DUE,
  deleteTransaction,
  IMPORT_TYPE,
  type ImportRecord,
  type ImportState,
  importOf,
  isRemovable,
  removedTransaction,
} from './shapes.ts';

const ATTEMPTS_MAX = 10;
const RECORDS_PAGE = 100;

/**
 * Abandons an unpublished import: it can never be published afterwards, even if its importer still runs. Returns the
 * current state, which is `published` if the importer was faster.
 */
export async function abandonImport(client: TenantClient, importId: string): Promise<ImportState> {
  for (let attempt = 1; ; attempt++) {
    const { record, revision } = await readImport(client, importId);
    if (record.state !== 'staging') return record.state;
    const transaction = abandonTransaction(client.tenantId, record, revision);
    if (await commitIfUnchanged(client, transaction)) return 'abandoned';
    if (attempt === ATTEMPTS_MAX) throw new Error(`the record of ${importId} keeps changing`);
  }
}

/**
 * Deletes the documents of an abandoned or superseded import in chunks and returns their number; a repeated call
 * continues. Only a call that finds none marks the import as removed: a running importer may add chunks after an
 * earlier call.
 */
export async function removeStaged(client: TenantClient, importId: string): Promise<number> {
  const { record, revision } = await readImport(client, importId);
  if (record.removed) return 0;
  if (!isRemovable(record)) {
    throw new Error(`${importId} is ${record.state}: only an abandoned or superseded import can be removed`);
  }
  let removed = 0;
  let pass: Pass;
  do {
    pass = await removeOnce(client, importId);
    removed += pass.removed;
  } while (pass.disturbed);
  if (removed === 0) await commitIfUnchanged(client, removedTransaction(client.tenantId, record, revision));
  return removed;
}

/** Removes the documents of the abandoned and superseded imports of a source. Run it regularly. */
export async function cleanUpSource(client: TenantClient, sourceId: string): Promise<number> {
  const indexes = { sourceId, cleanUp: CLEAN_UP_DUE };
  let removed = 0;
  const pages = client.pages({ documentType: IMPORT_TYPE, indexes, limit: RECORDS_PAGE });
  for await (const page of pages) {
    for (const { id } of page) removed += await removeStaged(client, id);
  }
  return removed;
}

interface Pass {
  readonly removed: number;
  /** Another clean-up was faster; documents that it has not reached remain. */
  readonly disturbed: boolean;
}

async function removeOnce(client: TenantClient, importId: string): Promise<Pass> {
  let removed = 0;
  let disturbed = false;
  const pages = client.pages({ indexes: { importId }, limit: CHUNK_MUTATIONS_MAX });
  for await (const page of pages) {
    if (page.length === 0) continue;
    try {
      await client.commit(deleteTransaction(importId, page));
      removed += page.length;
    } catch (error) {
      if (!(error instanceof CallError) || error.code !== 'document_missing') throw error;
      disturbed = true;
    }
  }
  return { removed, disturbed };
}

async function readImport(client: TenantClient, importId: string) {
  const document = await client.read(IMPORT_TYPE, importId);
  if (document === null || document.deleted) throw new Error(`there is no import ${importId}`);
  const record: ImportRecord = importOf(document);
  return { record, revision: document.revision };
}

/** `false` if the state that the transaction was built from has changed. */
async function commitIfUnchanged(client: TenantClient, transaction: Transaction): Promise<boolean> {
  try {
    await client.commit(transaction);
    return true;
  } catch (error) {
    if (error instanceof CallError && error.code === 'precondition_failed') return false;
    throw error;
  }
}
