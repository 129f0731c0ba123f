import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningService, startService } from '../support/service.ts';

/** The answer and the log line where the service cannot serve a request of the record plane. */

const LIMIT = 65_536;

let service: RunningService;
beforeAll(async () => {
  service = await startService({
    settings: { 'Records:ImportPayloadBytesMax': String(LIMIT), 'Server:LogLevel': 'info' },
    groups: ['collections', 'records', 'execution'],
  });
});
afterAll(() => service.close());

const record = { id: 'a', partitionKey: 'p', content: { text: 'x'.repeat(LIMIT) } };

describe('a request that is larger than its setting allows', () => {
  test.each([
    ['/collections/c/records/batch', { records: [record] }],
    ['/collections/c/records/batch/jobs', { records: [record] }],
    ['/collections/c/import', { snapshot: { policy: { name: 'c' }, records: [record] } }],
    ['/collections/c/import/jobs', { snapshot: { policy: { name: 'c' }, records: [record] } }],
  ])('%s names the setting and its value', async (path, body) => {
    const answer = await service.call({ method: 'POST', path, body });
    expect(answer.status).toBe(413);
    expect(answer.json()).toMatchObject({
      code: 'payload_too_large',
      detail: `The request body is larger than ${LIMIT} bytes. The setting Records:ImportPayloadBytesMax of the service is ${LIMIT}.`,
    });
  });

  test('a smaller bound of the platform in front is not that of the setting', async () => {
    const behind = await startService({
      settings: { 'Records:ImportPayloadBytesMax': '2097152', 'Server:MessageBytesMax': '1048576' },
      groups: ['records'],
    });
    const content = { text: 'x'.repeat(1_048_576) };
    const body = { records: [{ ...record, content }] };
    const answer = await behind.call({ method: 'POST', path: '/collections/c/records/batch', body });
    expect(answer.json()).toMatchObject({
      code: 'payload_too_large',
      detail: 'The request body is larger than 1048576 bytes.',
    });
    await behind.close();
  });
});

test('a read of a missing thing logs no warning, and any other refusal does', async () => {
  const severityOf = async (method: string, path: string, body?: object) => {
    const { status } = await service.call({ method, path, ...(body === undefined ? {} : { body }) });
    return [status, (JSON.parse(service.lines.at(-1) ?? '{}') as { severity?: string }).severity];
  };
  expect(await severityOf('GET', '/collections/absent')).toEqual([404, 'INFO']);
  expect(await severityOf('POST', '/collections/absent/query', {})).toEqual([404, 'INFO']);
  expect(await severityOf('GET', '/collections/absent/records/p/a')).toEqual([404, 'INFO']);
  expect(await severityOf('POST', '/collections/absent/query', { limit: 0 })).toEqual([400, 'WARNING']);
});
