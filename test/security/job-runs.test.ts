import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { patienceMs } from '../support/effort.ts';
import { type IssuedService, serviceAudience, startIssuedService } from '../support/issued-service.ts';
import { executionGrantSettings } from './matrix-execution.ts';
import { recordGrantSettings } from './matrix-records.ts';
import { RecordSpace } from './record-space.ts';

vi.setConfig({ testTimeout: patienceMs, hookTimeout: patienceMs });

const space = `space-${randomUUID()}`;
const product = 'shop';
const query = `?${new URLSearchParams({ productId: product, tenantId: space }).toString()}`;
const principalOf = (name: string) => `${name}@project.example`;
const runRights = {
  product,
  tenants: [space],
  handlers: ['svc.collections.create', 'svc.records.batch-upsert'],
  worker: 'worker',
  operations: ['start_run', 'read_run', 'cancel_run'],
};

let service: IssuedService;
beforeAll(async () => {
  const granted = ['writer', 'watcher'].map((name) => [principalOf(name), runRights] as const);
  const records = { space, operations: ['read', 'write', 'delete', 'maintain'] };
  service = await startIssuedService(
    [{ principal: principalOf('writer'), tenants: [space], operations: ['read'] }],
    {
      ...executionGrantSettings(granted, serviceAudience),
      ...recordGrantSettings([[principalOf('writer'), records]], serviceAudience),
    },
  );
});
afterAll(() => service.close());

async function spaceOf(name: string): Promise<RecordSpace> {
  const token = await service.issuer.mint({ email: principalOf(name), audience: serviceAudience });
  return new RecordSpace(service.call, { Authorization: `Bearer ${token}` }, query);
}

test('the run of a batch does not exist for a caller of runs without a right of the space', async () => {
  const writer = await spaceOf('writer');
  const watcher = await spaceOf('watcher');
  const [collection, mark] = [`c-${randomUUID()}`, `mark-${randomUUID()}`];
  const policy = { name: collection };
  await writer.create(policy);
  const records = [
    { id: mark, partitionKey: 'p', type: 'note', sources: [], metadata: { mark }, content: {} },
  ];
  const job = await writer.admit('POST', `/collections/${collection}/records/batch`, { records });
  expect(await writer.settled(job)).toMatchObject({ status: 'succeeded' });
  expect((await writer.send('GET', `/execution/runs/${job}`)).text).toContain(mark);

  const refused = [
    await watcher.send('GET', `/execution/runs/${job}`),
    await watcher.send('GET', `/execution/runs/${job}/artifacts`),
    await watcher.send('DELETE', `/execution/runs/${job}`),
  ];
  expect(refused.map(({ status }) => status)).toEqual([404, 404, 404]);
  const absent = await watcher.send('GET', `/execution/runs/${randomUUID()}`);
  expect(refused[0]?.code).toBe(absent.code);
  const list = await watcher.send('GET', '/execution/runs');
  expect(list.status).toBe(200);
  expect(list.text).not.toContain(mark);
  // The run that made the collection carries no record.
  expect(list.text).toContain('svc.collections.create');
});
