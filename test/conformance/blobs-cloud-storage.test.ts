import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { crc32c } from '../../functions/blobs/cloud-storage/crc32c.ts';
import { openCloudStorageBlobs } from '../../functions/blobs/cloud-storage/store.ts';
import type { BlobStore } from '../../functions/blobs/port.ts';
import { machine } from '../../functions/compose/machine.ts';
import type { World } from '../../functions/kernel/world.ts';
import { type CloudFault, CloudStorageServer } from '../support/cloud-storage.ts';
import { attributesOf, describeBlobStore, failing, listAll, type OpenedBlobs } from './blobs.ts';

const bucket = 'svc-test-objects';
const bytes = Buffer.from('the content');
const attributes = attributesOf(bytes);
const key = 'artifacts/1/2.json';

for (const pageSizeMax of [1000, 2]) {
  describeBlobStore(`Cloud Storage, at most ${pageSizeMax} names a page`, () => openOn(pageSizeMax));
}

async function openOn(pageSizeMax: number): Promise<OpenedBlobs> {
  const server = await CloudStorageServer.start(bucket);
  server.pageSizeMax = pageSizeMax;
  const opened: BlobStore[] = [];
  const again = () => {
    const store = openCloudStorageBlobs({ bucket, endpoint: server.endpoint, ...machine });
    opened.push(store);
    return Promise.resolve(store);
  };
  return {
    store: await again(),
    again,
    damage(damaged) {
      const object = server.objects.get(damaged);
      if (object === undefined) throw new Error('no such object');
      const content = Buffer.from(object.content);
      const middle = content.length >> 1;
      content[middle] = (content[middle] ?? 0) ^ 1;
      object.content = content;
      return Promise.resolve();
    },
    async close() {
      for (const store of opened) await store.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

interface Stage extends AsyncDisposable {
  readonly server: CloudStorageServer;
  readonly store: BlobStore;
  /** The pauses between tries, as they were asked for. */
  readonly pauses: number[];
}

/** The stage records pauses instead of waiting; `late` ends the wait for the first answer. */
async function stage(patience?: Promise<void>, more: Partial<World> = {}): Promise<Stage> {
  const server = await CloudStorageServer.start(bucket);
  const pauses: number[] = [];
  let late = patience;
  const timers: World['timers'] = {
    after(delayMs, callback) {
      if (delayMs >= 30_000) {
        void late?.then(callback);
        late = undefined;
        return () => undefined;
      }
      pauses.push(delayMs);
      return machine.timers.after(0, callback);
    },
  };
  const random = { bytes: (size: number) => new Uint8Array(size).fill(255) };
  const store = openCloudStorageBlobs({
    bucket,
    endpoint: server.endpoint,
    ...machine,
    timers,
    random,
    ...more,
  });
  return { server, store, pauses, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

describe('Cloud Storage fails for a moment', () => {
  const passing: [string, CloudFault][] = [
    ...[408, 429, 500, 502, 503, 504].map((status): [string, CloudFault] => [`${status}`, { status }]),
    ['503, and did it', { status: 503, applied: true }],
    ['a cut connection', {}],
    ['a cut connection, and did it', { applied: true }],
  ];

  test.each(passing)('%s: every call is tried again', async (_, fault) => {
    await using on = await stage();
    const { server, store, pauses } = on;
    const calls: (() => Promise<unknown>)[] = [
      () => store.put(key, bytes, attributes),
      () => store.get(key, 100),
      () => store.list('artifacts/', { limit: 5 }),
      () => store.remove(key),
      () => store.removeAll('artifacts/1/'),
      () => store.ping(),
    ];
    for (const call of calls) {
      server.faults = [fault, fault, fault];
      pauses.length = 0;
      await call();
      expect(server.faults).toEqual([]);
      expect(pauses).toEqual([500, 1000, 2000]);
    }
    expect(server.objects.size).toBe(0);
  });

  test('a put with a lost answer recognises its own object', async () => {
    await using on = await stage();
    on.server.faults = [{ method: 'POST', applied: true }];
    await on.store.put(key, bytes, attributes);
    expect(on.server.calls.map((call) => call.split(' ')[0])).toEqual(['POST', 'POST', 'GET']);
    expect(on.server.objects.get(key)?.content).toEqual(bytes);
  });

  test('it is not tried for ever', async () => {
    await using on = await stage();
    on.server.faults = Array.from({ length: 9 }, () => ({ status: 503 }));
    await expect(on.store.put(key, bytes, attributes)).rejects.toEqual(failing('unavailable'));
    expect(on.server.faults).toHaveLength(5);
    await expect(on.store.get(key, 100)).rejects.toThrow('Cloud Storage answered 503: injected');
  });

  test('a pause that is asked for is kept, up to a bound', async () => {
    await using on = await stage();
    on.server.faults = [
      { status: 429, headers: { 'retry-after': '3' } },
      { status: 429, headers: { 'retry-after': '3600' } },
      { status: 429, headers: { 'retry-after': 'Wed, 21 Oct 2026 07:28:00 GMT' } },
    ];
    await on.store.ping();
    expect(on.pauses).toEqual([3000, 8000, 2000]);
  });

  test('callers that failed together retry at different times', async () => {
    await using on = await stage(undefined, { random: { bytes: (size) => new Uint8Array(size) } });
    on.server.faults = [{ status: 503 }, { status: 503 }];
    await on.store.ping();
    expect(on.pauses).toEqual([250, 500]);
  });

  test('an answer that never comes is not waited for', async () => {
    const { promise: called, resolve: hangs } = Promise.withResolvers<void>();
    await using on = await stage(called);
    on.server.faults = [{ hangs }];
    await on.store.ping();
    expect(on.server.calls).toHaveLength(2);
  });

  test('content that breaks off is read again', async () => {
    await using on = await stage();
    await on.store.put(key, bytes, attributes);
    on.server.calls.length = 0;
    on.server.faults = [{ torn: true }];
    expect(Buffer.from((await on.store.get(key, 100))?.bytes ?? [])).toEqual(bytes);
    expect(on.server.calls.filter((call) => call.includes('alt=media'))).toHaveLength(2);
  });
});

describe('Cloud Storage with failures that do not pass', () => {
  test.each([
    [400, 'unavailable'],
    [401, 'unavailable'],
    [403, 'unavailable'],
    [413, 'too_large'],
  ] as const)('%d fails the call without a retry', async (status, failure) => {
    await using on = await stage();
    for (const call of [
      () => on.store.put(key, bytes, attributes),
      () => on.store.get(key, 9),
      () => on.store.remove(key),
      () => on.store.list('', { limit: 1 }),
    ]) {
      on.server.faults = [{ status }];
      on.server.calls.length = 0;
      await expect(call()).rejects.toEqual(failing(failure));
      expect(on.server.calls).toHaveLength(1);
    }
  });

  test('a missing bucket does not count as a missing object', async () => {
    await using on = await stage();
    const store = openCloudStorageBlobs({ bucket: 'svc-other', endpoint: on.server.endpoint, ...machine });
    for (const call of [
      () => store.put(key, bytes, attributes),
      () => store.get(key, 9),
      () => store.remove(key),
      () => store.ping(),
    ]) {
      await expect(call()).rejects.toThrow('bucket does not exist');
    }
  });

  test('an object that others put there is not taken for ours', async () => {
    await using on = await stage();
    await on.store.put(key, bytes, attributes);
    const stored = on.server.objects.get(key);
    if (stored === undefined) throw new Error('nothing was put');
    on.server.objects.set(key, { ...stored, metadata: {} });
    on.server.objects.set('artifacts/1/Other Name?.json', stored);
    await expect(on.store.get(key, 100)).rejects.toEqual(failing('corrupt'));
    await expect(on.store.put(key, bytes, attributes)).rejects.toEqual(failing('conflict'));
    expect(await listAll(on.store, 'artifacts/', 10)).toEqual([key]);
    expect(await on.store.removeAll('artifacts/1/')).toBe(2);
  });

  test('content that was changed on its way there is refused', async () => {
    const bent: World['http'] = async (input, init) => {
      const body = Buffer.from(await new Response(init?.body ?? null).arrayBuffer());
      const at = body.indexOf(bytes);
      if (at !== -1) body[at] = 'T'.charCodeAt(0);
      return machine.http(input, { ...init, ...(at === -1 ? {} : { body }) });
    };
    await using on = await stage(undefined, { http: bent });
    await expect(on.store.put(key, bytes, attributes)).rejects.toThrow("doesn't match calculated CRC32C");
    expect(on.server.objects.size).toBe(0);
  });

  test('a redirect is not followed', async () => {
    await using on = await stage();
    await using elsewhere = await CloudStorageServer.start(bucket);
    const location = `${elsewhere.endpoint}/storage/v1/b/${bucket}/o`;
    on.server.faults = Array.from({ length: 4 }, () => ({ status: 307, headers: { location } }));
    await expect(on.store.ping()).rejects.toEqual(failing('unavailable'));
    expect(elsewhere.calls).toEqual([]);
  });

  test('a read stops at the declared size of the object', async () => {
    await using on = await stage();
    await on.store.put(key, bytes, attributes);
    const grown: World['http'] = async (input, init) => {
      const response = await machine.http(input, init);
      const object = on.server.objects.get(key);
      if (object !== undefined) object.content = Buffer.alloc(1_000_000);
      return response;
    };
    const reader = openCloudStorageBlobs({ bucket, endpoint: on.server.endpoint, ...machine, http: grown });
    await expect(reader.get(key, 100)).rejects.toThrow('more than the object has');
  });

  test('a put succeeds when the conflicting object is removed meanwhile', async () => {
    await using on = await stage();
    await on.store.put(key, Buffer.from('x'), attributesOf(Buffer.from('x')));
    on.server.afterRefusal = () => on.server.objects.delete(key);
    await on.store.put(key, bytes, attributes);
    expect(on.server.objects.get(key)?.content).toEqual(bytes);
  });

  test('an object that is replaced between the two reads is not mixed with the old one', async () => {
    await using on = await stage();
    await on.store.put(key, bytes, attributes);
    let reads = 0;
    const replaced: World['http'] = async (input, init) => {
      reads += 1;
      const response = await machine.http(input, init);
      const object = on.server.objects.get(key);
      if (reads === 1 && object !== undefined) on.server.objects.set(key, { ...object, generation: '7' });
      return response;
    };
    const reader = openCloudStorageBlobs({
      bucket,
      endpoint: on.server.endpoint,
      ...machine,
      http: replaced,
    });
    expect(await reader.get(key, 100)).toBeNull();
    expect(reads).toBe(2);
  });
});

test.each(['', 'a', 'A-bucket', '../x', 'a/b', 'x?y', `b${'x'.repeat(230)}`])('%j is no bucket', (name) => {
  expect(() => openCloudStorageBlobs({ bucket: name, ...machine })).toThrow('not the name of a bucket');
});

test.each([
  ['', 'AAAAAA=='],
  ['123456789', '4waSgw=='],
])('the checksum of %j is %s', (text, checksum) => {
  expect(crc32c(Buffer.from(text))).toBe(checksum);
});

describe('credentials', () => {
  test('an endpoint of its own is sent none', async () => {
    await using on = await stage();
    await on.store.ping();
    expect(on.server.authorizations).toEqual([undefined]);
  });

  test('Google is asked with the token of the application, which is drawn once', async () => {
    await using on = await stage();
    on.server.bearer = 'token-of-the-application';
    const folder = await mkdtemp(join(tmpdir(), 'blobs-key-'));
    const file = join(folder, 'key.json');
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    await writeFile(
      file,
      JSON.stringify({
        type: 'service_account',
        project_id: 'p',
        client_email: 'svc@p.iam.gserviceaccount.com',
        private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
      }),
    );
    const asked: string[] = [];
    const http: World['http'] = (input, init) => {
      const url = new URL(input);
      asked.push(url.host);
      if (url.host === 'storage.googleapis.com') {
        return machine.http(`${on.server.endpoint}${url.pathname}${url.search}`, init);
      }
      const token = { access_token: on.server.bearer, expires_in: 3600, token_type: 'Bearer' };
      return Promise.resolve(Response.json(token));
    };
    process.env.GOOGLE_APPLICATION_CREDENTIALS = file;
    try {
      const store = openCloudStorageBlobs({ bucket, ...machine, http });
      await Promise.all([store.ping(), store.put(key, bytes, attributes)]);
      expect(Buffer.from((await store.get(key, 100))?.bytes ?? [])).toEqual(bytes);
      const google = asked.filter((host) => host === 'storage.googleapis.com');
      expect([google.length, asked.length - google.length]).toEqual([4, 1]);
    } finally {
      delete process.env.GOOGLE_APPLICATION_CREDENTIALS;
      await rm(folder, { recursive: true });
    }
  });
});
