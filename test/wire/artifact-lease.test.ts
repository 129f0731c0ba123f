import { afterAll, beforeAll, expect, test } from 'vitest';
import { BlobError } from '../../functions/blobs/port.ts';
import { proofIn } from '../../functions/groups/execution/lease-proof.ts';
import { asStoreError } from '../../functions/runs/artifact.ts';
import { type RunningService, startService } from '../support/service.ts';

/** Artifacts are the largest bodies of workers: the lease is checked before the server reads one to its end. */

let service: RunningService;
beforeAll(async () => {
  service = await startService({
    settings: { 'ExecutionRuntime:ExternalHandlers:0:HandlerId': 'work' },
    groups: ['execution'],
  });
});
afterAll(() => service.close());

const PATH = '/execution/workers/leases/artifacts';
const CHUNK = 64 * 1024;
const MEBIBYTE = 1024 * 1024;
const post = (path: string, body: object) => service.call({ method: 'POST', path, body });

async function leased() {
  await post('/execution/runs', { handlerId: 'work' });
  const answer = await post('/execution/workers/leases', { workerId: 'w', handlerIds: ['work'] });
  const { leaseKey, leaseToken } = answer.json<{ leaseKey: string; leaseToken: string }>();
  return { leaseKey, leaseToken, workerId: 'w' };
}

/** Sends the body in chunks; how many bytes the server took of it. */
async function sent(body: object) {
  const bytes = Buffer.from(JSON.stringify(body));
  let taken = 0;
  const chunks = (async function* () {
    for (let at = 0; at < bytes.length; at += CHUNK) {
      taken = Math.min(bytes.length, at + CHUNK);
      yield bytes.subarray(at, at + CHUNK);
    }
  })();
  const headers = { 'Content-Length': String(bytes.length), 'Content-Type': 'application/json' };
  const answer = await service.call({ method: 'POST', path: PATH, headers, body: chunks });
  return { status: answer.status, code: answer.json<{ code?: string }>().code, taken, bytes: bytes.length };
}

const artifact = (bytes: number) => ({ name: 'a', text: 'x'.repeat(bytes), metadata: {} });

test('of a caller without a live lease the server reads no large body', async () => {
  const proof = await leased();
  const wrong = { ...proof, leaseToken: 'wrong' };
  const refused = await sent({ ...wrong, artifact: artifact(20 * MEBIBYTE) });
  expect(refused).toMatchObject({ status: 409, code: 'lease_stale' });
  expect(refused.taken).toBeLessThanOrEqual(2 * CHUNK);
  expect((await post('/execution/workers/leases/complete', { ...proof, result: {} })).status).toBe(200);
  const late = await sent({ ...proof, artifact: artifact(20 * MEBIBYTE) });
  expect(late).toMatchObject({ status: 409, code: 'lease_not_active' });
  expect(late.taken).toBeLessThanOrEqual(2 * CHUNK);
});

test('a proof behind the artifact is found in smaller bodies, and asked to come first in larger ones', async () => {
  const proof = await leased();
  const small = await sent({ artifact: artifact(MEBIBYTE / 2), ...proof });
  expect(small).toMatchObject({ status: 200, taken: small.bytes });
  const large = await sent({ artifact: artifact(4 * MEBIBYTE), ...proof });
  expect(large).toMatchObject({ status: 400, code: 'validation_failed' });
  expect(large.taken).toBeLessThanOrEqual(MEBIBYTE + CHUNK);
  const first = await sent({ ...proof, artifact: artifact(4 * MEBIBYTE) });
  expect(first).toMatchObject({ status: 200, taken: first.bytes });
});

test.each<[string, object | null]>([
  [
    '{"leaseKey":"k","leaseToken":"t","workerId":"w","artifact":{',
    { leaseKey: 'k', leaseToken: 't', workerId: 'w' },
  ],
  [
    ' { "workerId" : "\\u0077" ,\n"leaseToken":"a\\"b","leaseKey":"k"',
    { leaseKey: 'k', leaseToken: 'a"b', workerId: 'w' },
  ],
  ['{"leaseKey":"k","artifact":{"leaseToken":"t","workerId":"w"', null],
  ['{"leaseKey":"k","leaseToken":"t","n":1,"workerId":"w"', null],
  ['{"leaseKey":"\\x","leaseToken":"t","workerId":"w"', null],
  ['', null],
])('the proof in %j is %j', (text, expected) => {
  expect(proofIn(Buffer.from(text))).toEqual(expected);
});

test.each([
  ['full', 'full'],
  ['unavailable', 'unavailable'],
] as const)('bytes that a place refuses as %s are refused like a store that is %s', (failure, expected) => {
  expect(asStoreError(new BlobError(failure, 'x'))).toMatchObject({ failure: expected });
});
