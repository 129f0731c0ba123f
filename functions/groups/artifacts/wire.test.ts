import { createHash, generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { RecordSpace } from '../../../test/security/record-space.ts';
import { artifactForm, type Form, formOf } from '../../../test/support/forms.ts';
import { hurried, type RunningService, startService } from '../../../test/support/service.ts';

/** Artifacts over HTTP. Every answer is checked against its model. */

let service: RunningService;
let space: RecordSpace;
beforeAll(async () => {
  service = await startService({ world: hurried });
  space = new RecordSpace(service.call);
  await space.create({ name: 'papers' });
});
afterAll(() => service.close());

type Members = Record<string, unknown>;

const sorted = (members: Members) =>
  Object.fromEntries(Object.entries(members).sort(([left], [right]) => (left < right ? -1 : 1)));

const hashOf = (bytes: Uint8Array) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

function manifestOf(id: string, changes: Members = {}): Members & { readonly artifact: Members } {
  const artifact = { container: 'files', key: `${id}/a.bin`, metadata: { Source: 'scan' } };
  return { collection: 'papers', record: { id, partitionKey: 'p/q' }, artifact, ...changes };
}

async function send({ headers, body }: Form, more: Record<string, string> = {}, query = '') {
  const path = `/ingest/record-artifact${query}`;
  const answer = await service.call({ method: 'POST', path, headers: { ...headers, ...more }, body });
  const fields = new Headers(answer.headers);
  return { status: answer.status, json: answer.json<Members>(), header: (name: string) => fields.get(name) };
}

async function ended(id: unknown) {
  await space.settled(String(id));
  return JSON.parse((await space.send('GET', `/execution/runs/${String(id)}`)).text) as Members;
}

const read = async (path: string) => {
  const { status, text } = await space.send('GET', path);
  return { status, text };
};
const recordPath = (id: string) => `/collections/papers/records/p%2Fq/${id}`;

describe('ingestRecordArtifact', () => {
  test.each([
    ['small', Buffer.from('a paper')],
    ['large', Buffer.alloc(200_000, 'abcdefghij')],
  ])('writes %s bytes as an object, with their record, by one run', async (name, bytes) => {
    const id = `${name}-${randomUUID()}`;
    // A double keeps neither the place of the member "1" nor the spelling of the number.
    const record = `{"id":"${id}","partitionKey":"p/q","b":1.50,"1":true}`;
    const manifest = `{ "artifact": ${JSON.stringify(manifestOf(id).artifact)}, "record": ${record},\n "collection":"papers"}`;
    const admitted = await send(artifactForm(manifest, bytes, 'text/plain'));
    expect([admitted.status, admitted.header('location')]).toEqual([
      202,
      `/execution/runs/${String(admitted.json['id'])}`,
    ]);
    expect(admitted.json).toMatchObject({
      handlerId: 'svc.artifacts.record-ingest',
      admission: { operationId: 'ingestRecordArtifact', status: 'accepted', replayed: false },
    });
    const contentHash = hashOf(bytes);
    const artifact = {
      container: 'files',
      key: `${id}/a.bin`,
      contentType: 'text/plain',
      contentLength: bytes.length,
      etag: contentHash,
      contentHash,
      metadata: { source: 'scan' },
    };
    const recordUri = `/collections/papers/records/p%2Fq/${id}`;
    expect(await ended(admitted.json['id'])).toMatchObject({
      status: 'succeeded',
      result: {
        accepted: true,
        collection: 'papers',
        recordId: id,
        partitionKey: 'p/q',
        recordUri,
        artifact,
        externalContextVerified: false,
        receivedAt: expect.any(String),
      },
    });
    expect(await read(`/objects/files/${id}/a.bin`)).toEqual({ status: 200, text: String(bytes) });
    expect((await read(recordUri)).text).toContain(`"b":1.50,"1":true`);
  });

  test('the same request under a key answers the first run, and another is refused', async () => {
    const id = randomUUID();
    const key = { 'Idempotency-Key': `key-${id}` };
    const bytes = Buffer.alloc(100_000, 1);
    const first = await send(artifactForm(manifestOf(id), bytes), key);
    const again = await send(artifactForm(manifestOf(id), bytes), key);
    expect([again.status, again.json['id'], again.header('idempotency-replayed')]).toEqual([
      202,
      first.json['id'],
      'true',
    ]);
    expect(again.json['admission']).toMatchObject({ replayed: true });
    for (const form of [
      artifactForm(manifestOf(id), Buffer.alloc(100_000, 2)),
      artifactForm(manifestOf(id), Buffer.from('small')),
      artifactForm(manifestOf(id, { record: { id, partitionKey: 'p/q', type: 'x' } }), bytes),
    ]) {
      const refused = await send(form, key);
      expect([refused.status, refused.json['code']]).toEqual([409, 'idempotency_conflict']);
    }
    expect((await ended(first.json['id']))['status']).toBe('succeeded');
    expect((await send(artifactForm(manifestOf(id), bytes), key)).json['id']).toBe(first.json['id']);
  });

  test.each([
    ['small', Buffer.from('a letter')],
    ['large', Buffer.alloc(100_000, 1)],
  ])('a repeat with %s bytes answers the first run after its collection has gone', async (name, bytes) => {
    const [id, collection] = [randomUUID(), `letters-${name}`];
    const key = { 'Idempotency-Key': `gone-${id}` };
    await space.create({ name: collection });
    const form = artifactForm(manifestOf(id, { collection }), bytes);
    const first = await send(form, key);
    await ended(first.json['id']);
    const deleted = await space.send('DELETE', `/collections/${collection}`);
    await ended((JSON.parse(deleted.text) as { id: string }).id);
    const again = await send(form, key);
    expect([again.status, again.json['id'], again.header('idempotency-replayed')]).toEqual([
      202,
      first.json['id'],
      'true',
    ]);
    expect(again.json['admission']).toMatchObject({ replayed: true });
    const other = await send(artifactForm(manifestOf(id, { collection }), 'other'), key);
    expect([other.status, other.json['code']]).toEqual([409, 'idempotency_conflict']);
    for (const headers of [{ 'Idempotency-Key': `other-${id}` }, undefined]) {
      const absent = await send(form, headers);
      expect([absent.status, absent.json['code']]).toEqual([404, 'collection_not_found']);
    }
  });

  test('metadata with the names of members that every object has is kept, or refused', async () => {
    const id = randomUUID();
    const metadata = { constructor: 'a', toString: 'b', hasOwnProperty: 'c' };
    const artifact = { container: 'files', key: id, metadata };
    const run = await ended((await send(artifactForm(manifestOf(id, { artifact }), 'x'))).json['id']);
    const kept = { constructor: 'a', tostring: 'b', hasownproperty: 'c' };
    expect(JSON.stringify(run['result'])).toContain(`"metadata":${JSON.stringify(sorted(kept))}`);
    const text = JSON.stringify(manifestOf(id)).replace('"Source"', '"__proto__"');
    const refused = await send(artifactForm(text, 'x'));
    expect([refused.status, refused.json['code']]).toEqual([400, 'malformed_request']);
    expect(({} as Members)['a']).toBeUndefined();
  });

  test('rivals with one key have one run, and rivals for one object have one winner', async () => {
    const id = randomUUID();
    const key = { 'Idempotency-Key': `rivals-${id}` };
    const form = artifactForm(manifestOf(id), Buffer.alloc(100_000, 1));
    const same = await Promise.all(Array.from({ length: 5 }, () => send(form, key)));
    expect(same.map(({ status }) => status)).toEqual(Array(5).fill(202));
    expect(new Set(same.map(({ json }) => json['id'])).size).toBe(1);
    const object = { container: 'files', key: `${id}/contested` };
    const rivals = await Promise.all(
      Array.from({ length: 5 }, (_, at) =>
        send(artifactForm(manifestOf(`${id}-${at}`, { artifact: object }), `rival ${at}`)),
      ),
    );
    const ends = await Promise.all(rivals.map(({ json }) => ended(json['id'])));
    expect(ends.filter(({ status }) => status === 'failed')).toHaveLength(4);
    const winner = ends.findIndex(({ status }) => status === 'succeeded');
    expect((await read(`/objects/files/${id}/contested`)).text).toBe(`rival ${winner}`);
    const records = await Promise.all(ends.map((_, at) => read(recordPath(`${id}-${at}`))));
    expect(records.map(({ status }) => status)).toEqual(ends.map((_, at) => (at === winner ? 200 : 404)));
  });

  test('an object with the same bytes stays, and one with others ends the run without a record', async () => {
    const id = randomUUID();
    const path = `/objects/files/${id}/a.bin`;
    const headers = { 'Content-Type': 'text/plain' };
    await service.call({ method: 'PUT', path, headers, body: Buffer.from('first') });
    const other = await send(artifactForm(manifestOf(id), 'other'));
    expect(await ended(other.json['id'])).toMatchObject({
      status: 'failed',
      failureClass: 'validation',
      error: expect.stringContaining('other bytes'),
    });
    expect([(await read(path)).text, (await read(recordPath(id))).status]).toEqual(['first', 404]);
    const same = await send(artifactForm(manifestOf(id), 'first'));
    expect(await ended(same.json['id'])).toMatchObject({
      status: 'succeeded',
      result: { artifact: { contentType: 'text/plain', metadata: {} } },
    });
    expect((await read(recordPath(id))).status).toBe(200);
  });

  const described = (changes: Members) => ({
    artifact: { container: 'files', key: 'refused/a', ...changes },
  });
  const recorded = (changes: Members) => ({ record: { id: 'a', partitionKey: 'p', ...changes } });

  test.each<[string, Members, string | Uint8Array, string, string]>([
    ['no bytes', {}, '', 'validation_failed', '/artifact'],
    ['too many bytes', {}, Buffer.alloc(16_777_217), 'limit_exceeded', '/artifact'],
    ['a body over the limit of the route', {}, Buffer.alloc(17_900_000), 'payload_too_large', ''],
    ['an absent collection', { collection: 'absent' }, 'x', 'collection_not_found', ''],
    ['a bad collection', { collection: '-' }, 'x', 'validation_failed', '/manifest/collection'],
    ['a bad record', recorded({ id: 'a/b' }), 'x', 'validation_failed', '/manifest/record/id'],
    [
      'a vector without a policy',
      recorded({ vectors: { v: { values: [1] } } }),
      'x',
      'validation_failed',
      '/manifest/record/vectors/v',
    ],
    ['a hostile key', described({ key: '../a' }), 'x', 'validation_failed', '/manifest/artifact/key'],
    [
      'a bad container',
      described({ container: 'A' }),
      'x',
      'validation_failed',
      '/manifest/artifact/container',
    ],
    ['no type', described({ contentType: 'x' }), 'x', 'validation_failed', '/manifest/artifact/contentType'],
    [
      'reserved metadata',
      described({ metadata: { svc_x: '1' } }),
      'x',
      'validation_failed',
      '/manifest/artifact/metadata/svc_x',
    ],
    ['an unknown member', { other: 1 }, 'x', 'validation_failed', '/manifest'],
    [
      'a proof that no key can verify',
      { externalContext: { token: 'a.b.c' } },
      'x',
      'validation_failed',
      '/manifest/externalContext',
    ],
    [
      'a record that is too large for a run',
      recorded({ content: { text: 'x'.repeat(300_000) } }),
      'x',
      'limit_exceeded',
      '',
    ],
  ])('%s is refused', async (_, changes, bytes, code, pointer) => {
    const refused = await send(artifactForm(manifestOf('refused', changes), bytes));
    expect(refused.json['code']).toBe(code);
    const [first] = (refused.json['errors'] ?? []) as { pointer: string }[];
    expect((first?.pointer ?? '').startsWith(pointer)).toBe(true);
    expect((await read('/objects/files?prefix=refused')).text).toContain('"items":[]');
  });

  test('one of product and tenant is refused', async () => {
    const refused = await send(artifactForm(manifestOf('refused'), 'x'), {}, '?productId=a');
    expect([refused.status, refused.json['code']]).toEqual([400, 'validation_failed']);
  });
});

describe('a form that no client library writes', () => {
  const manifest = { name: 'manifest', content: JSON.stringify(manifestOf('refused')) };
  const artifact = { name: 'artifact', content: 'bytes', fileName: 'a.bin' };
  const whole = formOf([manifest, artifact]);
  const nested = {
    mediaType: 'multipart/form-data; boundary=inner',
    content: '--inner\r\n\r\n{}\r\n--inner--',
  };
  const many = (part: (at: number) => string) =>
    formOf(Array.from({ length: 1_000 }, (_, at) => ({ ...manifest, name: part(at) })));

  test.each<[string, Form, number, string]>([
    ['without a manifest', formOf([artifact]), 400, 'validation_failed'],
    ['without bytes', formOf([manifest]), 400, 'validation_failed'],
    ['without parts', formOf([]), 400, 'validation_failed'],
    ['with the manifest twice', formOf([manifest, manifest, artifact]), 400, 'validation_failed'],
    ['with the bytes twice', formOf([manifest, artifact, artifact]), 400, 'malformed_request'],
    ['with the bytes first', formOf([artifact, manifest]), 400, 'validation_failed'],
    [
      'with a renamed manifest',
      formOf([{ ...manifest, name: 'Manifest' }, artifact]),
      400,
      'validation_failed',
    ],
    ['with renamed bytes', formOf([manifest, { ...artifact, name: 'file' }]), 400, 'validation_failed'],
    [
      'with a part __proto__',
      formOf([manifest, { ...artifact, name: '__proto__' }]),
      400,
      'validation_failed',
    ],
    ['with a form as its manifest', formOf([{ ...manifest, ...nested }, artifact]), 400, 'validation_failed'],
    ['with 1,000 parts', many((at) => `part-${at}`), 400, 'validation_failed'],
    ['with 1,000 manifests', many(() => 'manifest'), 400, 'validation_failed'],
    [
      'with a manifest of more than 1 MiB',
      formOf([{ ...manifest, content: JSON.stringify(manifestOf('x'.repeat(1_048_576))) }, artifact]),
      400,
      'limit_exceeded',
    ],
    [
      'with a file name that is a path',
      formOf([manifest, { ...artifact, fileName: '../a' }]),
      400,
      'malformed_request',
    ],
    [
      'with a member twice',
      formOf([{ ...manifest, content: '{"collection":"a","collection":"b"}' }, artifact]),
      400,
      'malformed_request',
    ],
    [
      'as JSON',
      { headers: { 'Content-Type': 'application/json' }, body: Buffer.from('{}') },
      415,
      'unsupported_media_type',
    ],
    [
      'of another boundary',
      { ...whole, headers: { 'Content-Type': 'multipart/form-data; boundary=other' } },
      400,
      'malformed_request',
    ],
  ])('%s is refused', async (_, form, status, code) => {
    const refused = await send(form);
    expect([refused.status, refused.json['code']]).toEqual([status, code]);
  });

  test('that is cut anywhere is refused', async () => {
    const end = whole.body.length - 2;
    for (let length = 1; length < end; length += 7) {
      const refused = await send({ ...whole, body: whole.body.subarray(0, length) });
      expect([refused.status, refused.json['code']], String(length)).toEqual([400, 'malformed_request']);
    }
    expect((await read('/objects/files?prefix=refused')).text).toContain('"items":[]');
    expect((await read(recordPath('refused'))).status).toBe(404);
  });
});

describe('a service that asks for a proof of the context', () => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
  const publicPart = { KeyId: 'one', X: x, Y: y };
  const section = 'Artifacts:ExternalContext';
  let asking: RunningService;
  beforeAll(async () => {
    asking = await startService({
      world: hurried,
      settings: {
        [`${section}:Issuer`]: 'https://context.test',
        [`${section}:Audience`]: 'svc',
        [`${section}:Required`]: 'true',
        ...Object.fromEntries(
          Object.entries(publicPart).map(([name, value]) => [`${section}:Keys:0:${name}`, value]),
        ),
      },
    });
    await new RecordSpace(asking.call).create({ name: 'papers' });
  });
  afterAll(() => asking.close());

  const segment = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const seconds = () => Math.floor(hurried.clock.now() / 1000);
  function tokenOf(changes: Members = {}, alg = 'ES256'): string {
    const claims = { iss: 'https://context.test', aud: 'svc', exp: seconds() + 600, ...changes };
    const signed = `${segment({ alg, kid: 'one' })}.${segment(claims)}`;
    if (alg === 'none') return `${signed}.`;
    const signature = sign('sha256', Buffer.from(signed), { key: privateKey, dsaEncoding: 'ieee-p1363' });
    return `${signed}.${signature.toString('base64url')}`;
  }
  async function ingest(id: string, token: string | null, more: Record<string, string> = {}) {
    const externalContext = token === null ? null : { token };
    const { headers, body } = artifactForm(manifestOf(id, { externalContext }), 'x');
    const path = '/ingest/record-artifact';
    return asking.call({ method: 'POST', path, headers: { ...headers, ...more }, body });
  }

  test('keeps none of it, and says that it holds', async () => {
    const id = randomUUID();
    const token = tokenOf();
    const key = { 'Idempotency-Key': id };
    const answer = await ingest(id, token, key);
    expect([answer.status, answer.body]).toEqual([202, expect.not.stringContaining(token)]);
    const { id: runId } = answer.json<{ id: string }>();
    const run = await new RecordSpace(asking.call).settled(runId);
    expect(run).toMatchObject({ status: 'succeeded', result: { externalContextVerified: true } });
    // A later proof of the same request is another token.
    const again = await ingest(id, tokenOf({ exp: seconds() + 900 }), key);
    expect([again.status, again.json<{ id: string }>().id]).toEqual([202, runId]);
    // The first proof may have expired by the time of the repeat, and a caller may have none any more.
    for (const late of [tokenOf({ exp: seconds() - 3_600 }), null]) {
      const repeated = await ingest(id, late, key);
      expect([repeated.status, repeated.json<{ id: string }>().id]).toEqual([202, runId]);
    }
  });

  test.each<[string, () => string | null]>([
    ['no proof', () => null],
    ['an expired one', () => tokenOf({ exp: seconds() - 3_600 })],
    ['one of no algorithm', () => tokenOf({}, 'none')],
    ['one of another issuer', () => tokenOf({ iss: 'https://other.test' })],
    ['no token at all', () => 'token'],
  ])('refuses %s, and tells nothing of it', async (_, token) => {
    const given = token();
    const refused = await ingest('refused', given);
    expect([refused.status, refused.json<Members>()['code']]).toEqual([400, 'validation_failed']);
    if (given !== null && given.includes('.')) expect(refused.body).not.toContain(given);
  });
});
