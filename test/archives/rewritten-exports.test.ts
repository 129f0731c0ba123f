import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { CollectionExportEnvelope, RecordImportJob } from '../../contracts/generated/models.ts';
import type { InjectedResponse } from '../../functions/http/host-inject.ts';
import { canonicalJson, type Json, sha256 } from '../../functions/kernel/canonical-json.ts';
import { contractModels } from '../security/schema-set.ts';
import { allEntries } from '../security/target.ts';
import { patienceMs } from '../support/effort.ts';
import { type RunningService, startService } from '../support/service.ts';

vi.setConfig({ testTimeout: patienceMs, hookTimeout: patienceMs });

/** Exports that a client parsed and wrote again, and the imports that take them back. */

const record =
  '{"id":"1","partitionKey":"p","metadata":{"b":-0,"10":1,"2":[1.50,-0.0,-1e-50],"a":{"z":1e21,"y":0.30000000000000004}},' +
  '"content":{"text":"é\\u0007 \\/"},"vectors":{"v":{"values":[-1e-50,0.1,12345678]}}}';
const policy = {
  name: 'c',
  vectorPolicies: [{ name: 'v', path: '/vectors/v/values', dimensions: 3 }],
};
const zeros = `sha256:${'0'.repeat(64)}`;

/** Writes members in another order, and numbers in another spelling. */
function respelled(value: Json): string {
  if (typeof value === 'number')
    return Number.isInteger(value) && Math.abs(value) < 1e15
      ? `${value}.0`
      : value.toExponential().toUpperCase();
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[ ${value.map(respelled).join(' ,')}]`;
  const members = Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}: ${respelled(each)}`);
  return `{\n${members.reverse().join(',\n')}}`;
}

const rewriters: Readonly<Record<string, (value: Json) => string>> = {
  'JSON.parse and JSON.stringify': (value) => JSON.stringify(value),
  'indented text': (value) => JSON.stringify(value, null, 2),
  'sorted members': (value) => canonicalJson(value),
  'members and numbers written otherwise': respelled,
};

let service: RunningService;
beforeAll(async () => {
  service = await startService();
  await service.start();
});
afterAll(() => service.close());

const parse = (text: string): Json => JSON.parse(text) as Json;

test('every import of the catalogue that takes a hash has its part here', () => {
  const set = contractModels();
  const imports = allEntries.filter(({ requestSchema }) => {
    const members = requestSchema === null ? [] : Object.values(set.model(requestSchema).properties ?? {});
    return members.some((member) => Object.hasOwn(set.resolve(member).properties ?? {}, 'contentHash'));
  });
  expect(imports.map(({ id }) => id).sort()).toEqual([
    'importCollection',
    'restoreCanonicalTenant',
    'startCollectionImportJob',
  ]);
});

describe('an export of a collection', () => {
  let text: string;
  let envelope: CollectionExportEnvelope;
  let names = 0;

  const start = (snapshot: string, more: object = {}, path = 'import/jobs'): Promise<InjectedResponse> => {
    names += 1;
    const members = JSON.stringify({ allowCollectionRename: true, ...more }).slice(1);
    const body = `{"snapshot":${snapshot},${members}`;
    return service.call({ method: 'POST', path: `/collections/d${names}/${path}`, body });
  };
  const refusalOf = async (snapshot: string, more?: object): Promise<unknown> => {
    const { status, body } = await start(snapshot, more);
    return status === 202 ? 'accepted' : (JSON.parse(body) as { code: string }).code;
  };
  const outcomeOf = async (answer: InjectedResponse): Promise<RecordImportJob> => {
    expect(answer.status, answer.body).toBe(202);
    const { id } = answer.json<RecordImportJob>();
    const ended = await service.ended({ method: 'GET', path: `/record-import/jobs/${id}` });
    return ended.json<RecordImportJob>();
  };
  const statusOf = async (snapshot: string, more?: object, path?: string): Promise<unknown> => {
    const { status, importResult } = await outcomeOf(await start(snapshot, more, path));
    return [status, importResult?.contentHashComparison.matches, importResult?.contentHashComparison.status];
  };

  beforeAll(async () => {
    const snapshot = `{"policy":${JSON.stringify(policy)},"records":[${record}]}`;
    await outcomeOf(await start(snapshot));
    text = (await service.call({ method: 'GET', path: '/collections/d1/export' })).body;
    envelope = JSON.parse(text) as CollectionExportEnvelope;
  });

  test('has the hash that a client computes from its values', () => {
    const { collection, policy: own, records, valueHash } = envelope;
    expect(valueHash).toBe(sha256(canonicalJson({ collection, policy: own, records })));
  });

  test('is matched by the content hash of its answer', async () => {
    expect(await statusOf(text)).toEqual(['succeeded', true, 'matched']);
  });

  test.each(Object.entries(rewriters))('is imported again after %s', async (_, rewrite) => {
    const snapshot = rewrite(parse(text));
    const wanted = ['succeeded', true, 'matched_by_value'];
    expect(await statusOf(snapshot)).toEqual(wanted);
    expect(await statusOf(snapshot, {}, 'import')).toEqual(wanted);
    expect(await statusOf(snapshot, { replaceExisting: true })).toEqual(wanted);
    const { valueHash } = envelope;
    expect(await statusOf(snapshot, { expectedValueHash: valueHash?.toUpperCase() ?? null })).toEqual(wanted);
    const apart = { expectedContentHash: envelope.contentHash, expectedValueHash: valueHash };
    expect(await statusOf(snapshot, apart)).toEqual(wanted);
  });

  test('is refused with a changed value with any hashes in it', async () => {
    const value = parse(text) as { [name: string]: Json };
    const { contentHash, valueHash } = envelope;
    for (const [from, to] of [
      ['0.30000000000000004', '0.3'],
      ['"10":1', '"10":2'],
      ['"2":[', '"3":['],
      ['12345678', '12345679'],
      ['"dimensions":3', '"dimensions":4'],
      ['"collection":"d1"', '"collection":"d2"'],
    ] as const) {
      const changed = JSON.stringify(value).replace(from, to);
      expect(changed).not.toBe(JSON.stringify(value));
      expect(await refusalOf(changed), from).not.toBe('accepted');
    }
    const rewritten = JSON.stringify({ ...value, valueHash: zeros });
    expect(await refusalOf(rewritten)).toBe('content_hash_mismatch');
    expect(await refusalOf(JSON.stringify({ ...value, contentHash: zeros, valueHash: zeros }))).toBe(
      'content_hash_mismatch',
    );
    // A hash that was kept apart binds: the one beside the records may have been changed with them.
    const forged = { ...value, records: [], recordCount: 0 };
    const { collection, policy: ofExport } = envelope;
    const ownHash = sha256(canonicalJson({ collection, policy: ofExport, records: [] }));
    const forgery = JSON.stringify({ ...forged, valueHash: ownHash });
    expect(await refusalOf(forgery, { expectedContentHash: contentHash })).toBe('content_hash_mismatch');
    expect(await refusalOf(forgery, { expectedValueHash: valueHash })).toBe('content_hash_mismatch');
    const without = JSON.stringify({ ...forged, contentHash: null });
    expect(await refusalOf(without, { expectedValueHash: valueHash })).toBe('content_hash_mismatch');
    // The hash of the content that was forged: as the service itself hashes it.
    expect(await refusalOf(without)).toBe('content_hash_mismatch');
    const unjudged = JSON.stringify({ ...forged, contentHash: null, valueHash: null });
    const { importResult } = await outcomeOf(await start(unjudged));
    const own = importResult?.contentHashComparison.actualHash ?? null;
    const matching = JSON.stringify({ ...forged, contentHash: own });
    expect(await refusalOf(matching, { expectedValueHash: valueHash })).toBe('content_hash_mismatch');
    expect(await refusalOf(matching)).toBe('accepted');
  });

  test('of a release without value hashes is imported as before', async () => {
    const old = text.replace(/,"valueHash":"[^"]*"/, '');
    expect(old).not.toBe(text);
    expect(await statusOf(old)).toEqual(['succeeded', true, 'matched']);
    expect(await refusalOf(JSON.stringify(parse(old)))).toBe('content_hash_mismatch');
    const { contentHash: _, ...without } = parse(old) as { [name: string]: Json };
    expect(await statusOf(JSON.stringify(without))).toEqual(['succeeded', false, 'not_provided']);
  });
});

// The lines of a snapshot are made from the values as in RFC 8785, so its one hash is that of the values.
describe('the snapshot of a tenant', () => {
  const path = (tenant: string, operation: string): string => `/canonical/tenants/${tenant}/${operation}`;
  const data = '{"b":-0,"10":1,"2":[1.50,-0.0,-1e-50],"a":{"z":1e21,"y":0.30000000000000004}}';
  const bodyOf = (tenant: string): string =>
    `{"idempotencyKey":"k","mutations":[{"operation":"upsert","document":{"tenantId":"${tenant}","documentType":"a","id":"1",` +
    `"schemaVersion":"1","data":${data}}}],"outbox":[{"topic":"t","key":"1","payload":${data}}]}`;

  test.each(Object.entries(rewriters))('is restored after %s', async (_, rewrite) => {
    const tenant = `t${sha256(String(rewrite)).slice(7, 20)}`;
    const committed = await service.call({
      method: 'POST',
      path: path(tenant, 'transactions'),
      body: bodyOf(tenant),
    });
    expect(committed.status, committed.body).toBe(200);
    const { body: text } = await service.call({ method: 'GET', path: path(tenant, 'export') });
    const restore = (snapshot: string): Promise<InjectedResponse> =>
      service.call({ method: 'POST', path: path(tenant, 'restore'), body: `{"snapshot":${snapshot}}` });
    const restored = await restore(rewrite(parse(text)));
    expect(restored.status, restored.body).toBe(204);
    const again = await service.call({ method: 'GET', path: path(tenant, 'export') });
    expect(again.json<{ contentHash: string }>().contentHash).toBe(
      (JSON.parse(text) as { contentHash: string }).contentHash,
    );
    const changed = await restore(rewrite(parse(text.replaceAll('0.30000000000000004', '0.3'))));
    expect([changed.status, changed.json<{ code: string }>().code]).toEqual([400, 'content_hash_mismatch']);
  });
});
