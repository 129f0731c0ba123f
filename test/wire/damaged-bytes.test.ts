import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PayloadPieces } from '../../functions/collections/payload-pieces.ts';
import type { RecordData, RecordStore } from '../../functions/store/port.ts';
import { MemoryDatabase } from '../simulation/memory-database.ts';
import { MemoryStore } from '../simulation/memory-store.ts';
import { type RunningService, startService } from '../support/service.ts';

/** Stored bytes with a hash that are not those that were written. */

let service: RunningService;
/** Maps the stored text to the text that is read; `null` for no damage. */
let damaged: ((body: string) => string) | null = null;
beforeAll(async () => {
  service = await startService({ watchStore: damaging });
});
afterAll(() => service.close());

function damaging(store: RecordStore): RecordStore {
  const changed = (record: RecordData): RecordData =>
    damaged !== null && typeof record.body === 'string' ? { ...record, body: damaged(record.body) } : record;
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      if (name !== 'query') return member.bind(target);
      return async (...given: unknown[]) => {
        const page = (await Reflect.apply(member, target, given)) as {
          readonly records?: readonly RecordData[];
        };
        return page.records === undefined ? page : { ...page, records: page.records.map(changed) };
      };
    },
  });
}

const call = (method: string, path: string, body?: unknown) =>
  service.call({ method, path, ...(body === undefined ? {} : { body }) });

async function leased() {
  const scope = { handlerId: 'invoice.render' };
  const { id } = (await call('POST', '/execution/runs', scope)).json<{ id: string }>();
  const asked = { workerId: 'w', handlerIds: ['invoice.render'], runId: id, ttlSeconds: 600 };
  const lease = (await call('POST', '/execution/workers/leases', asked)).json<Record<string, string>>();
  return { id, proof: { leaseKey: lease['leaseKey'], leaseToken: lease['leaseToken'], workerId: 'w' } };
}

/** Writes something, and answers how it is read. */
const kinds: Readonly<Record<string, () => Promise<() => ReturnType<typeof call>>>> = {
  'a small object': async () => {
    expect((await call('PUT', '/objects/files/a.txt', Buffer.from('bytes of a file'))).status).toBe(200);
    return () => call('GET', '/objects/files/a.txt');
  },
  'a part of a small object': async () => {
    expect((await call('PUT', '/objects/files/b.txt', Buffer.from('bytes of a file'))).status).toBe(200);
    return () =>
      service.call({ method: 'GET', path: '/objects/files/b.txt', headers: { Range: 'bytes=0-3' } });
  },
  'a checkpoint': async () => {
    const { id, proof } = await leased();
    const checkpoint = { key: 'k', content: { said: 'bytes' } };
    expect(
      (await call('POST', '/execution/workers/leases/checkpoints', { ...proof, checkpoint })).status,
    ).toBe(200);
    return () => call('GET', `/execution/runs/${id}/checkpoints/k`);
  },
  'an artifact': async () => {
    const { id, proof } = await leased();
    const artifact = { name: 'n', text: 'bytes' };
    expect((await call('POST', '/execution/workers/leases/artifacts', { ...proof, artifact })).status).toBe(
      200,
    );
    return () => call('GET', `/execution/runs/${id}/artifacts/n`);
  },
  'a list of artifacts': async () => {
    const { id, proof } = await leased();
    const artifact = { name: 'n', content: { said: 'bytes' } };
    expect((await call('POST', '/execution/workers/leases/artifacts', { ...proof, artifact })).status).toBe(
      200,
    );
    return () => call('GET', `/execution/runs/${id}/artifacts`);
  },
};

const PIECE = 'staged';
test('a piece of a staged payload with a flipped bit is not read', async () => {
  const store = new MemoryStore(new MemoryDatabase());
  const pieces = new PayloadPieces(() => Promise.resolve(damaging(store)));
  await pieces.put(PIECE, Buffer.from('bytes'));
  expect(await pieces.get(PIECE, 100)).toEqual(Buffer.from('bytes'));
  damaged = flipped;
  await expect(pieces.get(PIECE, 100)).rejects.toMatchObject({ failure: 'corrupt' });
  damaged = null;
});

/** One bit of the text, or of the base64 that stands for bytes. */
const flipped = (body: string) =>
  body.includes('bytes') ? body.replace('bytes', 'cytes') : body.replace('Ynl0', 'Y2l0');

test.each(Object.entries(kinds))('%s with a flipped bit is not served', async (_, write) => {
  const read = await write();
  const before = await read();
  expect([200, 206], before.body).toContain(before.status);
  damaged = flipped;
  const answer = await read();
  damaged = null;
  expect(answer.status).toBe(500);
  expect(answer.body).not.toContain('cytes');
  expect((await read()).body).toBe(before.body);
});

test('the service is not ready once it has met damage', async () => {
  const report = (await call('GET', '/readiness')).json<{
    ready: boolean;
    checks: readonly { id: string }[];
  }>();
  expect(report.ready).toBe(false);
  expect(report.checks).toContainEqual(expect.objectContaining({ id: 'storage.damage', status: 'failed' }));
  expect(service.lines.filter((line) => line.includes('stored data is damaged'))).toHaveLength(1);
});

test('a job that meets damage is seen too', async () => {
  const own = await startService();
  try {
    const path = '/collections/c/records/batch/jobs';
    const records = [{ id: 'a', partitionKey: 'p', content: { text: 'bytes '.repeat(20_000) } }];
    const admitted = await own.call({ method: 'POST', path, body: { records } });
    expect(admitted.status, admitted.body).toBe(202);
    const files = readdirSync(own.folder, { recursive: true, withFileTypes: true });
    const staged = files.find((file) => file.isFile() && file.parentPath.includes('staged-payloads'));
    const name = join(staged?.parentPath ?? '', staged?.name ?? '');
    writeFileSync(name, readFileSync(name, 'latin1').replace('bytes', 'cytes'), 'latin1');
    await own.start();
    const { id } = admitted.json<{ id: string }>();
    const run = (await own.ended({ method: 'GET', path: `/execution/runs/${id}` })).json<{
      status: string;
    }>();
    expect(run.status).toBe('failed');
    const readiness = await own.call({ method: 'GET', path: '/readiness' });
    expect(readiness.json<{ ready: boolean }>().ready).toBe(false);
  } finally {
    await own.close();
  }
});
