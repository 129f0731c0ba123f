import { expect, test } from 'vitest';
import { startService } from '../support/service.ts';

test('a job that meets the limit ends as failed, and says why', async () => {
  const space = await startService({ settings: { 'Quotas:SpaceBytesMax': '60000' } });
  await space.start();
  const vectorPolicies = [{ name: 'v', path: '/vectors/v/values', dimensions: 384 }];
  const created = await space.call({
    method: 'POST',
    path: '/collections',
    body: { name: 'library', vectorPolicies },
  });
  await space.ended({ method: 'GET', path: `/execution/runs/${created.json<{ id: string }>().id}` });
  const body = {
    documentId: 'd',
    partitionKey: 'p',
    text: 'word '.repeat(4_000),
    options: { chunkChars: 400 },
  };
  const path = '/collections/library/rag/ingest-text/jobs';
  const started = await space.call({ method: 'POST', path, body });
  expect(started.status, started.body).toBe(202);
  const { id } = started.json<{ id: string }>();
  const job = await space.ended({ method: 'GET', path: `/rag/ingestion/jobs/${id}` });
  expect(job.json()).toMatchObject({ status: 'failed' });
  expect(job.body).toContain('quota_exceeded');
  await space.close();
});

test('a write that brings a tenant to 80 % of its bytes is in the log, without a name', async () => {
  const settings = { 'Quotas:TenantBytesMax': '20000', 'Server:LogLevel': 'warning' };
  const near = await startService({ settings });
  const write = (id: string, length: number) => {
    const data = { text: 'x'.repeat(length) };
    const document = { tenantId: 'secret-name', documentType: 'order', id, schemaVersion: '1', data };
    const body = { idempotencyKey: id, mutations: [{ document }] };
    return near.call({ method: 'POST', path: '/canonical/tenants/secret-name/transactions', body });
  };
  const lines = () => near.lines.filter((line) => line.includes('has stored 80 %'));
  expect((await write('1', 1_000)).status).toBe(200);
  expect(lines()).toEqual([]);
  for (const id of ['2', '3']) expect((await write(id, 6_000)).status).toBe(id === '2' ? 200 : 409);
  expect(lines()).toHaveLength(1);
  expect(lines()[0]).not.toContain('secret-name');
  expect(JSON.parse(lines()[0] ?? '')).toMatchObject({ severity: 'WARNING' });
  await near.close();
});
