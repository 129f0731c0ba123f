import type { JobContext } from '../../../functions/jobs/job-plugin.ts';
import type { Json } from '../../../functions/kernel/canonical-json.ts';
import { invalidMember } from '../../../functions/kernel/errors.ts';
import type { KeyRequest, RecordStore } from '../../../functions/store/port.ts';
import { importKey, noteKey, noteRecord, notesScope, rewritten } from './records.ts';

/** Notes that one transaction writes. */
export const BATCH = 4;
const TEXT_LENGTH_MAX = 1_000;

export interface ImportPayload {
  readonly notebook: string;
  readonly notes: readonly { readonly id: string; readonly text: string }[];
}

export interface ImportParts {
  readonly store: () => Promise<RecordStore>;
  /** Called before each batch, for tests that stop a worker in the middle. */
  readonly beforeBatch?: (context: JobContext, at: number) => Promise<void>;
}

/**
 * Writes the notes in batches. Each batch moves the ledger of the import in its own transaction, so a worker that repeats a
 * batch writes nothing; the checkpoint saves it the look.
 */
export async function importNotes({ store, beforeBatch }: ImportParts, context: JobContext): Promise<Json> {
  const payload = context.payload as unknown as ImportPayload;
  const { notes } = payload;
  const requested = notes.length;
  const known = await context.readCheckpoint(CHECKPOINT);
  for (let at = doneIn(known?.content); at < requested; at += BATCH) {
    await beforeBatch?.(context, at);
    context.signal.throwIfAborted();
    const batch = notes.slice(at, at + BATCH);
    const long = batch.findIndex(({ text }) => text.length > TEXT_LENGTH_MAX);
    if (long >= 0)
      throw invalidMember(`/notes/${at + long}/text`, `must be at most ${TEXT_LENGTH_MAX} characters`);
    await writeBatch(await store(), context, payload.notebook, batch, at);
    const done = at + batch.length;
    await context.writeCheckpoint(CHECKPOINT, { done });
    const progress = done / requested;
    await context.report({ requested, attempted: done, succeeded: done, failed: 0, progress });
  }
  return { notebook: payload.notebook, written: requested };
}

const CHECKPOINT = 'batches';

function doneIn(content: Json | undefined): number {
  return (content as { readonly done?: number } | undefined)?.done ?? 0;
}

async function writeBatch(
  store: RecordStore,
  { runId, job }: JobContext,
  notebook: string,
  batch: ImportPayload['notes'],
  at: number,
): Promise<void> {
  const ledger = importKey(runId);
  const keys: KeyRequest[] = batch.map(({ id }) => ({ key: noteKey(notebook, id), view: 'body' }));
  await store.transact(notesScope(job.space), { gate: ledger, keys: [{ key: ledger }, ...keys] }, (found) => {
    const done = Number(found.get(ledger)?.head['done'] ?? 0);
    if (done > at) return { writes: [], result: null };
    const notes = batch.map((note) => {
      return rewritten(found.get(noteKey(notebook, note.id)), { notebook, ...note }, runId);
    });
    const writes = notes.map((note) => ({ put: noteRecord(note) }));
    return { writes: [...writes, { put: { key: ledger, head: { done: at + batch.length } } }], result: null };
  });
}
