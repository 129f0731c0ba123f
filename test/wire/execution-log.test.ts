import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ExecutionExternalWorkerLease } from '../../contracts/generated/models.ts';
import { type RunningService, startService } from '../support/service.ts';

let service: RunningService;
beforeAll(async () => {
  service = await startService({
    settings: { 'ExecutionRuntime:ExternalHandlers:0:HandlerId': 'work', 'Server:LogLevel': 'info' },
    groups: ['execution'],
  });
});
afterAll(() => service.close());

const post = (path: string, body: object) => service.call({ method: 'POST', path, body });

test('a worker that asks for its first checkpoint causes no warning, and any other refusal does', async () => {
  await post('/execution/runs', { handlerId: 'work' });
  const lease = await post('/execution/workers/leases', { workerId: 'w', handlerIds: ['work'] });
  const { leaseKey, leaseToken } = lease.json<ExecutionExternalWorkerLease>();
  const read = (token: string) =>
    post('/execution/workers/leases/checkpoints/read', {
      leaseKey,
      leaseToken: token,
      workerId: 'w',
      key: 'k',
    });
  const severityOf = async (token: string) => {
    const { status } = await read(token);
    return [status, (JSON.parse(service.lines.at(-1) ?? '{}') as { severity?: string }).severity];
  };
  expect(await severityOf(leaseToken)).toEqual([404, 'INFO']);
  expect(await severityOf('another')).toEqual([409, 'WARNING']);
});
