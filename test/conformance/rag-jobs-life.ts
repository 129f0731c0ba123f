import { expect, test } from 'vitest';
import type { RecordStore } from '../../functions/store/port.ts';
import { ExecutionClient } from '../support/execution.ts';
import { RagStage, SHAPE, sentences } from '../support/rag-stage.ts';

const DOCUMENT = { documentId: 'd', text: sentences(0, 5), options: { ...SHAPE, persistManifest: true } };
/** Too large for a run. */
const LONG = {
  documentId: 'long',
  text: sentences(0, 5_000),
  options: { chunkChars: 4_000, chunkOverlapChars: 0 },
};

export function describeRagJobsLife(store: () => RecordStore): void {
  test('the run of a job is one of the built-in handler, with one attempt and its result as an artifact', async () => {
    const stage = await new RagStage(store()).begin();
    const service = stage.rag();
    const [text, batch] = [await service.ingest(DOCUMENT), await service.ingest([DOCUMENT])];
    const client = new ExecutionClient(service.engine);
    for (const [job, kind] of [
      [text, 'text'],
      [batch, 'batch'],
    ] as const) {
      expect(await client.get(job.id)).toMatchObject({
        handlerId: `svc.rag.ingestion.${kind}`,
        pluginId: 'svc.rag.ingestion',
        maxAttempts: 1,
        tags: { 'svc.job': 'rag-ingestion', 'svc.rag.kind': kind, 'svc.collection': 'notes' },
      });
      const [artifact] = await client.artifacts(job.id);
      const name = kind === 'text' ? 'rag-ingestion-result' : 'rag-ingestion-batch-result';
      expect(artifact).toMatchObject({ name, content: job.textResult ?? job.batchResult });
    }
    expect(batch.batchResult).toMatchObject({ updatedCount: 5 });
  });

  test('a large request is staged, executed, and its payload removed', async () => {
    const stage = await new RagStage(store()).begin();
    const service = stage.rag();
    const { id } = await service.start(LONG);
    expect(await service.stagedBytes()).toBeGreaterThan(100_000);
    const done = await service.ended(id);
    expect(done).toMatchObject({ status: 'succeeded', textLength: LONG.text.length });
    expect(await service.stagedBytes()).toBe(0);
  });

  test('a result that is too large for a run is in the views of the job all the same', async () => {
    const stage = await new RagStage(store()).begin();
    const kept = await stage.rag({ resultBytesMax: 400 }).ingest({ ...DOCUMENT, text: sentences(0, 450) });
    expect(kept.textResult?.chunks).toHaveLength(450);
    const small = await stage.rag({ resultBytesMax: 400 }).ingest(DOCUMENT);
    expect(small.textResult?.chunks).toHaveLength(5);
  });

  test('a job that is cancelled before it began writes nothing, and frees its payload', async () => {
    const stage = await new RagStage(store()).begin();
    const service = stage.rag({ concurrencyMax: 0 });
    const { id } = await service.start(LONG);
    expect(await service.cancel(id)).toMatchObject({ status: 'cancelled', textResult: null });
    expect([await service.stagedBytes(), await stage.records()]).toEqual([0, []]);
  });

  test('removing chunks needs the right to delete them, at the admission and at the start of the job', async () => {
    const stage = await new RagStage(store()).begin();
    const service = stage.rag();
    const replacing = { ...DOCUMENT, options: { ...DOCUMENT.options, replaceDocumentChunks: true } };
    await expect(service.start(replacing, { as: 'writer' })).rejects.toMatchObject({
      code: 'permission_denied',
    });
    await expect(service.start(DOCUMENT, { as: 'reader' })).rejects.toMatchObject({
      code: 'permission_denied',
    });
    const { id } = await stage.rag({ concurrencyMax: 0 }).start(replacing);
    stage.grants = stage.grants.map((grant) => ({ ...grant, operations: ['read', 'write'] }));
    await service.engine.start();
    service.engine.engine.wake();
    const job = await service.ended(id);
    await service.engine.stop();
    expect(job).toMatchObject({ status: 'failed', failureClass: 'permission_denied' });
    expect(await stage.records()).toEqual([]);
  });

  test('a job of another space does not exist', async () => {
    const stage = await new RagStage(store()).begin();
    const service = stage.rag();
    const { id } = await service.ingest(DOCUMENT);
    await expect(service.get(id, 'bob')).rejects.toMatchObject({ code: 'not_found' });
    await expect(service.cancel(id, 'bob')).rejects.toMatchObject({ code: 'not_found' });
  });

  test('a document that shrinks to one chunk loses the others', async () => {
    const stage = await new RagStage(store()).begin();
    const service = stage.rag();
    const replace = { ...SHAPE, replaceDocumentChunks: true, skipUnchangedChunks: true };
    await service.ingest({ ...DOCUMENT, text: sentences(0, 130), options: replace });
    const done = await service.ingest({ ...DOCUMENT, text: 'One.', options: replace });
    expect(done.textResult).toMatchObject({ createdCount: 1, deletedStaleCount: 130 });
    expect(await stage.texts()).toEqual(['One.']);
  });
}
