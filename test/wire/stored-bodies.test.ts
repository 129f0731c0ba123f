import { mkdirSync, readdirSync, readFileSync, renameSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bodyChecks } from '../../cli/doctor/bodies.ts';
import { exitCodeOfChecks } from '../../cli/doctor/server.ts';
import { openFileBlobs } from '../../functions/blobs/files/store.ts';
import { PayloadPieces } from '../../functions/collections/payload-pieces.ts';
import { StagedPayloads } from '../../functions/collections/staged-payloads.ts';
import { OBJECTS, spaceScope } from '../../functions/collections/store-collections.ts';
import { STAGED_PIECES, UPKEEP_SCOPE } from '../../functions/collections/upkeep-collections.ts';
import { catalogGroups, collectionsOf } from '../../functions/compose/catalog-groups.ts';
import { compose, type Service } from '../../functions/compose/compose.ts';
import { machine } from '../../functions/compose/machine.ts';
import type { World } from '../../functions/kernel/world.ts';
import { USAGE, USAGE_SCOPE } from '../../functions/quotas/usage-store.ts';
import { ARTIFACTS, BODY_CHECK, CHECKPOINTS, EXECUTION_SCOPE } from '../../functions/runs/records.ts';
import { BODIES_A_SHARE, BodyCheck, PERIOD_MS } from '../../functions/store/check-bodies.ts';
import type { Collection, RecordStore, Scope } from '../../functions/store/port.ts';
import { type RunningService, startService } from '../support/service.ts';

/** Stored bodies with a hash at rest: every kind of the catalogue, sound and with a flipped bit. */

let service: RunningService;
/** Another process over the same database. */
let beside: Service;
let store: RecordStore;
/** Records that queries of the other process gave; one for an empty page, as databases bill it. */
let reads = 0;
/** Calls the upkeep that waits for its minute. */
let minute: (() => void) | null = null;
/** The delay after which processes add their counts. */
const COUNTED_MS = 20_000;
const counted: (() => void)[] = [];
let shareEnded = Promise.withResolvers<void>();

const world: World = {
  ...machine,
  timers: {
    after(delayMs, callback) {
      if (delayMs === COUNTED_MS) counted.push(callback);
      else if (delayMs === 60_000) minute = callback;
      else return machine.timers.after(delayMs, callback);
      return () => undefined;
    },
  },
};

function counting(inner: RecordStore): RecordStore {
  const query = inner.query.bind(inner) as (...given: readonly unknown[]) => Promise<never>;
  inner.query = async (...given: readonly unknown[]) => {
    const page = (await query(...given)) as { readonly records: readonly unknown[] };
    reads += Math.max(1, page.records.length);
    return page as never;
  };
  return inner;
}

function watching(inner: RecordStore): RecordStore {
  let moves = 0;
  const transact = inner.transact.bind(inner);
  inner.transact = async (scope, request, decide) => {
    const result = await transact(scope, request, decide);
    if (request.keys.some(({ key }) => key.id === BODY_CHECK.id)) moves += 1;
    if (moves === 2) shareEnded.resolve();
    return result;
  };
  return inner;
}

const call = (method: string, path: string, body?: unknown) =>
  service.call({ method, path, ...(body === undefined ? {} : { body }) });

async function leased() {
  const scope = { handlerId: 'invoice.render' };
  const { id } = (await call('POST', '/execution/runs', scope)).json<{ id: string }>();
  const asked = { workerId: 'w', handlerIds: ['invoice.render'], runId: id, ttlSeconds: 600 };
  const lease = (await call('POST', '/execution/workers/leases', asked)).json<Record<string, string>>();
  return { leaseKey: lease['leaseKey'], leaseToken: lease['leaseToken'], workerId: 'w' };
}

async function written(path: string, body: object): Promise<void> {
  const answer = await call('POST', `/execution/workers/leases/${path}`, { ...(await leased()), ...body });
  expect(answer.status, answer.body).toBe(200);
}

const LARGE = 'bytes '.repeat(60_000);
interface Kind {
  /** The kind as the catalogue names it. */
  readonly kind: string;
  readonly write: () => Promise<void>;
  /** Flips a bit of the written bytes; a second call restores it. */
  readonly flip: () => Promise<void>;
}

const kinds: Readonly<Record<string, Kind>> = {
  'a small object': {
    kind: 'object',
    write: async () =>
      expect((await call('PUT', '/objects/files/a.txt', Buffer.from('bytes of a file'))).status).toBe(200),
    flip: () => flipRecord(spaceScope('default'), OBJECTS),
  },
  'a large object': {
    kind: 'object',
    write: async () =>
      expect((await call('PUT', '/objects/files/b.txt', Buffer.from(LARGE))).status).toBe(200),
    flip: () => flipFile('objects'),
  },
  'an artifact': {
    kind: 'artifact',
    write: () => written('artifacts', { artifact: { name: 'n', text: 'bytes' } }),
    flip: () => flipRecord(EXECUTION_SCOPE, ARTIFACTS),
  },
  'a large artifact': {
    kind: 'artifact',
    write: () => written('artifacts', { artifact: { name: 'l', content: { said: LARGE } } }),
    flip: () => flipFile('artifacts/artifacts'),
  },
  'a checkpoint': {
    kind: 'checkpoint',
    write: () => written('checkpoints', { checkpoint: { key: 'k', content: { said: 'bytes' } } }),
    flip: () => flipRecord(EXECUTION_SCOPE, CHECKPOINTS),
  },
  'a piece of a staged payload': {
    kind: 'staged piece',
    write: () => new PayloadPieces(async () => store).put('staged', Buffer.from('bytes')),
    flip: () => flipRecord(UPKEEP_SCOPE, STAGED_PIECES),
  },
  'a staged payload in a file': {
    kind: 'staged payload',
    async write() {
      const blobs = await openFileBlobs({ folder: join(service.folder, 'artifacts'), ...machine });
      const most = { payloadBytesMax: 1_000_000, spaceBytesMax: 1_000_000, setting: 'S' };
      const payloads = new StagedPayloads(
        async () => store,
        world,
        async () => blobs,
        most,
      );
      expect(typeof (await payloads.stage('default', LARGE))).toBe('string');
      await blobs.close();
    },
    flip: () => flipFile('staged-payloads'),
  },
};

async function flipRecord(scope: Scope, collection: Collection): Promise<void> {
  const { records } = await store.query(scope, { by: 'list', collection, limit: 100 });
  const record = records.find(({ body }) => /[bc]ytes|Yn?2?l0/.test(body ?? '')) ?? records[0];
  if (typeof record?.body !== 'string') throw new Error('there is no such record');
  const { key } = record;
  const body = swapped(record.body);
  await store.transact(scope, { keys: [{ key }] }, (found) => ({
    writes: [{ put: { key, head: found.get(key)?.head ?? {}, body } }],
    result: null,
  }));
}

function fileIn(folder: string): string {
  const files = readdirSync(service.folder, { recursive: true, withFileTypes: true });
  const file = files.find((each) => each.isFile() && each.parentPath.includes(folder));
  return join(file?.parentPath ?? '', file?.name ?? '');
}

function flipFile(folder: string): Promise<void> {
  const path = fileIn(folder);
  writeFileSync(path, swapped(readFileSync(path, 'latin1')), 'latin1');
  return Promise.resolve();
}

/** One bit of the first word, or of the base64 that stands for it. */
function swapped(text: string): string {
  const pairs = [
    ['bytes', 'cytes'],
    ['Ynl0', 'Y3l0'],
  ] as const;
  for (const [sound, flipped] of pairs) {
    const at = [text.indexOf(sound), text.indexOf(flipped)].filter((each) => each >= 0);
    if (at.length === 0) continue;
    const first = Math.min(...at);
    const now = text.startsWith(sound, first) ? flipped : sound;
    return text.slice(0, first) + now + text.slice(first + now.length);
  }
  throw new Error('nothing to flip');
}

beforeAll(async () => {
  service = await startService({ world, watchStore: watching });
  beside = compose(service.settings, { writeLog: () => undefined, watchStore: counting });
  store = await beside.store();
  for (const { write } of Object.values(kinds)) await write();
  // The other process learns of the spaces from what this one has counted.
  for (const add of counted.splice(0)) add();
  const usage = { by: 'list', collection: USAGE, group: 'usage', limit: 10 } as const;
  while ((await store.query(USAGE_SCOPE, usage)).records.length === 0) await nextTurn();
});
afterAll(async () => {
  await beside.close();
  await service.close();
});

/** One reading of everything by upkeep, share after share: the lines of its log. */
async function swept(bodies: Awaited<ReturnType<Service['bodies']>>) {
  const lines: string[] = [];
  const saw: unknown[] = [];
  let now = 0;
  const key = { collection: 'counters', id: `${'0'.repeat(31)}1` };
  await store.transact(EXECUTION_SCOPE, { keys: [{ key }] }, (found) => ({
    writes: found.get(key) === undefined ? [] : [{ remove: key }],
    result: null,
  }));
  const check = new BodyCheck({
    store: async () => store,
    world: { clock: { now: () => now }, turns: machine.turns },
    log: ({ failure }) => void lines.push(String(failure)),
    saw: (error) => void saw.push(error),
    bodies: () => bodies,
    at: { scope: EXECUTION_SCOPE, key },
  });
  const before = reads;
  let shares = 0;
  for (; now < PERIOD_MS / 2; shares += 1) {
    await check.share(() => false);
    const { records } = await store.query(EXECUTION_SCOPE, { by: 'keys', keys: [{ key }] });
    now = Number(records[0]?.head['nextAt']);
  }
  return { lines, saw, shares, reads: reads - before - shares };
}

const doctor = async () => bodyChecks(service.settings, false);

test('sound ones are all read, and nothing is found', async () => {
  const checks = await doctor();
  expect(checks).toMatchObject([
    { status: 'ok', message: expect.stringMatching(/^7 stored bodies of \d{7} bytes/) },
  ]);
  const { lines, shares, reads: read } = await swept(await beside.bodies());
  expect(lines).toEqual([]);
  expect(shares).toBe(1);
  // Each body once, a page for each kind, and the list of spaces with its records.
  expect(read).toBeLessThanOrEqual(7 + 5 + 8);
});

describe.each(Object.entries(kinds))('%s with a flipped bit', (_, { kind, flip }) => {
  test('is found by the doctor and by upkeep, and nothing else is', async () => {
    await flip();
    try {
      const [found, ...rest] = await doctor();
      expect(found).toMatchObject({ status: 'failed', message: expect.stringContaining(`${kind} `) });
      expect(found?.remedy).toContain('Restore it from a backup');
      expect(exitCodeOfChecks([...rest])).toBe(1);
      expect(rest).toMatchObject([{ status: 'failed', message: expect.stringContaining(', 1 are damaged') }]);
      const { lines, saw } = await swept(await beside.bodies());
      expect(lines).toEqual([expect.stringMatching(new RegExp(`^${kind} [a-z-]+/`))]);
      expect(saw).toMatchObject([{ failure: 'corrupt' }]);
    } finally {
      await flip();
    }
    expect(await doctor()).toMatchObject([{ status: 'ok' }]);
  });
});

test('a file that cannot be read is named by both, is no damage, and the ones behind it are read', async () => {
  const path = fileIn('objects');
  renameSync(path, `${path}.aside`);
  mkdirSync(path);
  try {
    const [found, ...rest] = await doctor();
    expect(found).toMatchObject({
      status: 'failed',
      message: expect.stringMatching(/^object .*b\.txt .* could not be read: /),
    });
    expect(rest).toMatchObject([{ message: expect.stringMatching(/^Of 7 .* 1 could not be read\.$/) }]);
    const { lines, saw, shares } = await swept(await beside.bodies());
    expect({ lines, saw, shares }).toEqual({
      lines: [expect.stringMatching(/^object [a-z-]+\//)],
      saw: [],
      shares: 1,
    });
  } finally {
    rmdirSync(path);
    renameSync(`${path}.aside`, path);
  }
});

test('no kind of the catalogue is left out, and no collection is without a word on its hash', async () => {
  expect(new Set((await beside.bodies()).map(({ kind }) => kind))).toEqual(
    new Set(Object.values(kinds).map(({ kind }) => kind)),
  );
  const hashed = [OBJECTS, ARTIFACTS, CHECKPOINTS, STAGED_PIECES].map(({ name }) => name);
  // A new collection comes here, or its bodies get a hash and a verifier.
  const without = WITHOUT_HASH;
  const all = (await collectionsOf(catalogGroups)).map(({ name }) => name);
  expect(new Set(all)).toEqual(new Set([...hashed, ...without]));
});

test('a share is bounded, and the next one continues after it', async () => {
  let read = 0;
  const body = { place: 'x/y', name: 'y', verify: async () => ((read += 1), 1) };
  const pages = {
    kind: 'test',
    remedy: '',
    page: async (after: string | null) => ({
      bodies: Array.from({ length: 100 }, () => body),
      next: after === '11' ? null : String(Number(after ?? 0) + 1),
    }),
  };
  const { shares } = await swept([pages]);
  expect(read).toBe(1_200);
  expect(shares).toBe(Math.ceil(1_200 / BODIES_A_SHARE));
});

test('two processes take one share a minute together, and all are read again after the period', async () => {
  const at = { scope: EXECUTION_SCOPE, key: { collection: 'counters', id: `${'0'.repeat(31)}2` } };
  let now = 0;
  let read = 0;
  const body = { place: 'x/y', name: 'y', verify: () => Promise.resolve((read += 1)) };
  const bodies = { kind: 'test', remedy: '', page: () => Promise.resolve({ bodies: [body], next: null }) };
  const process = () =>
    new BodyCheck({
      store: () => Promise.resolve(store),
      world: { clock: { now: () => now }, turns: machine.turns },
      log: () => undefined,
      saw: () => undefined,
      bodies: () => [bodies],
      at,
    });
  const both = [process(), process()];
  const share = async () => {
    await Promise.all(both.map((each) => each.share(() => false)));
    return read;
  };
  expect(await share()).toBe(1);
  now = PERIOD_MS - 1;
  expect(await share()).toBe(1);
  now = PERIOD_MS;
  expect(await share()).toBe(2);
  expect(await share()).toBe(2);
});

test('a service that finds one in its upkeep is not ready', async () => {
  const { flip } = kinds['a checkpoint'] as Kind;
  await flip();
  await service.start();
  shareEnded = Promise.withResolvers<void>();
  minute?.();
  await shareEnded.promise;
  await flip();
  const report = (await call('GET', '/readiness')).json<{
    ready: boolean;
    checks: readonly { id: string }[];
  }>();
  expect(report.ready).toBe(false);
  expect(report.checks).toContainEqual(expect.objectContaining({ id: 'storage.damage', status: 'failed' }));
  expect(service.lines.filter((line) => line.includes('A stored body is damaged'))).toHaveLength(1);
});

/** Bodies of these have no hash: their texts are what they are, or a database holds them alone. */
const WITHOUT_HASH: readonly string[] = [
  'admissions',
  'children',
  'commits',
  'counters',
  'documents',
  'embedding-retention',
  'embeddings',
  'events',
  'fences',
  'import-progress',
  'job-leftovers',
  'leases',
  'migrations',
  'object-leftovers',
  'object-spaces',
  'operation-traces',
  'policies',
  'provider-guards',
  'provider-qualifications',
  'provider-runs',
  'records',
  'reindexed-collections',
  'remains',
  'retired-collections',
  'runs',
  'slots',
  'staged-bytes',
  'timers',
  'trace-counts',
  'trace-retention',
  'traces',
  'values',
];
