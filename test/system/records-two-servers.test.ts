import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { SvcClient } from '../../sdk/typescript/src/index.ts';
import { type ServerProcess, startServer } from '../support/server-process.ts';
import { importOf, inputsOf, policyOf, startersOf, untilUnderWay } from './records-work.ts';
import { databaseKinds } from './two-releases-databases.ts';

const COUNT = 6_000;
const FEW = 300;
const NAMES = ['one', 'other'] as const;
type Name = (typeof NAMES)[number];
type Pair = Record<Name, ServerProcess>;

const kind = databaseKinds.find(({ name }) => name === 'PostgreSQL');
const missing = kind?.missing === undefined ? '' : `, left out: ${kind.missing}`;

test.skipIf(missing !== '')(
  `two servers over PostgreSQL answer alike, and one ends the import of the other that is killed${missing}`,
  async () => {
    const database = await kind?.create();
    const folder = mkdtempSync(join(tmpdir(), 'svc-records-two-'));
    const started: ServerProcess[] = [];
    const begin = async (name: Name) => {
      // Only the lease of the killed server ends.
      const settings = ['LeaseSeconds=10', 'RecheckSeconds=1', `WorkerId=${name}`];
      const env = { ...database?.env, SVC_DATA_DIR: folder };
      const server = await startServer(
        env,
        settings.map((each) => `ExecutionRuntime:${each}`),
      );
      started.push(server);
      return server;
    };
    try {
      const [one, other] = await Promise.all(NAMES.map(begin));
      if (one === undefined || other === undefined) throw new Error('two servers run');
      const pair: Pair = { one, other };
      await answersAlike(pair);
      await findEachOthersWrites(pair);
      await seesReplacement(pair);
      const killed = await killedImport(pair);
      pair[killed] = await begin(killed);
      await alike(pair, 'large');
    } finally {
      await Promise.all(started.map((server) => server.kill()));
      await database?.drop();
      rmSync(folder, { recursive: true, force: true });
    }
  },
);

const clientOf = ({ address }: ServerProcess) => new SvcClient({ baseUrl: address });

async function answersAlike(pair: Pair): Promise<void> {
  const [one, other] = NAMES.map((name) => clientOf(pair[name])) as [SvcClient, SvcClient];
  const { id } = await one.createCollection(policyOf('c'));
  expect(await other.waitForExecutionRun(id)).toMatchObject({ status: 'succeeded' });
  const job = await other.startRecordBatchUpsertJob('c', { records: inputsOf(FEW, 1) });
  expect(await one.waitForRecordImportJob(job.id)).toMatchObject({ status: 'succeeded', succeeded: FEW });
  await one.upsertRecord('c', { id: 'late', partitionKey: 'p0', metadata: { index: -1, edition: 1 } });
  await alike(pair, 'c');
  // A list that starts at one server continues at the other.
  const orderBy = [{ path: '/metadata/index', direction: 'desc' }] as const;
  const ids: string[] = [];
  let continuationToken: string | null = null;
  for (let turn = 0; turn === 0 || continuationToken !== null; turn += 1) {
    const request = { orderBy, limit: 70, continuationToken };
    const page: { readonly items: readonly { readonly id: string }[]; continuationToken: string | null } =
      await (turn % 2 === 0 ? one : other).queryRecords('c', request);
    ids.push(...page.items.map((record) => record.id));
    ({ continuationToken } = page);
  }
  expect(ids).toEqual([
    ...inputsOf(FEW, 1)
      .map((record) => record.id)
      .toReversed(),
    'late',
  ]);
}

/** Each server finds the other's writes in its next search, by words and by vector. */
async function findEachOthersWrites(pair: Pair): Promise<void> {
  const [one, other] = NAMES.map((name) => clientOf(pair[name])) as [SvcClient, SvcClient];
  const vectorPolicies = [{ name: 'v', path: '/vectors/v/values', dimensions: 2 }];
  const { id } = await one.createCollection({ name: 's', vectorPolicies });
  expect(await other.waitForExecutionRun(id)).toMatchObject({ status: 'succeeded' });
  const idsOf = async (client: SvcClient, search: Parameters<SvcClient['searchRecords']>[1]) =>
    (await client.searchRecords('s', search)).items.map(({ record }) => record.id);
  const nearest = (turn: number) => ({ vector: { field: 'v', value: [1, turn], top: 1 } });
  for (let turn = 0; turn < 6; turn += 1) {
    const [writer, reader] = turn % 2 === 0 ? [one, other] : [other, one];
    await writer.upsertRecord('s', {
      id: `r${turn}`,
      partitionKey: 'p',
      content: { text: `word${turn}` },
      vectors: { v: { values: [1, turn] } },
    });
    expect(await idsOf(reader, { lexical: { query: `word${turn}` } })).toEqual([`r${turn}`]);
    expect(await idsOf(reader, nearest(turn))).toEqual([`r${turn}`]);
  }
  await one.deleteRecord('s', 'p', 'r5');
  expect(await idsOf(other, nearest(5))).toEqual(['r4']);
  expect(await idsOf(other, { lexical: { query: 'word5' } })).toEqual([]);
}

/** Both servers know the collection already when one replaces it. */
async function seesReplacement(pair: Pair): Promise<void> {
  const [one, other] = NAMES.map((name) => clientOf(pair[name])) as [SvcClient, SvcClient];
  const request = importOf('c', inputsOf(10, 2), { replaceExisting: true });
  const { id } = await one.startCollectionImportJob('c', request);
  expect(await one.waitForRecordImportJob(id)).toMatchObject({ status: 'succeeded', succeeded: 10 });
  for (const client of [one, other]) {
    expect((await client.getRecord('c', 'p1', 'r1'))?.metadata).toEqual({ index: 1, edition: 2 });
    expect(await client.getRecord('c', 'p2', 'r11')).toBeNull();
  }
  await other.upsertRecord('c', { id: 'after', partitionKey: 'p0', metadata: { index: 11, edition: 2 } });
  await alike(pair, 'c');
  await one.deleteRecord('c', 'p0', 'after');
  expect(await other.getRecord('c', 'p0', 'after')).toBeNull();
}

/** Kills the server that executes a large import; gives its name. */
async function killedImport(pair: Pair): Promise<Name> {
  const { id } = await clientOf(pair.one).startCollectionImportJob(
    'large',
    importOf('large', inputsOf(COUNT, 1)),
  );
  await untilUnderWay(clientOf(pair.one), id);
  const [first] = await startersOf(pair.one.address, id);
  const [killed, survivor]: readonly [Name, Name] = first === 'one' ? ['one', 'other'] : ['other', 'one'];
  await pair[killed].kill();
  const client = clientOf(pair[survivor]);
  const job = await client.getRecordImportJob(id);
  expect(job).toMatchObject({ status: 'running' });
  expect(job?.attempted).toBeLessThan(COUNT);
  const whole = { status: 'succeeded', requested: COUNT, attempted: COUNT, succeeded: COUNT, failed: 0 };
  const ended = await client.waitForRecordImportJob(id);
  expect(ended).toMatchObject({ ...whole, importResult: { policyStatus: 'created', recordCount: COUNT } });
  const items = ended?.importResult?.records.items ?? [];
  expect(items.map(({ index }) => index)).toEqual(Array.from({ length: COUNT }, (_, index) => index));
  expect(new Set(items.map(({ revision }) => revision))).toEqual(new Set([1]));
  expect(await startersOf(pair[survivor].address, id)).toEqual([killed, survivor]);
  expect(await client.inspectCollection('large')).toMatchObject({ recordCount: COUNT });
  return killed;
}

/** The answers of both, byte by byte. */
async function alike(pair: Pair, collection: string): Promise<void> {
  const queries = [
    {},
    { limit: 40, partitionKeys: ['p1'] },
    { filter: { path: '/metadata/index', op: 'gte', value: 5 }, limit: 20 },
    { filter: { path: '/metadata/edition', value: 2 }, limit: 5 },
    { orderBy: [{ path: '/metadata/index', direction: 'desc' }], limit: 25 },
    { filter: { path: '/metadata/index', op: 'nonsense', value: 5 } },
  ];
  const searches = [
    { lexical: { query: 'r7 note', top: 5 } },
    { lexical: { query: 'note' }, partitionKeys: ['p2'] },
  ];
  const posts = [
    ...queries.map((query) => [`/collections/${collection}/query`, query] as const),
    ...searches.map((search) => [`/collections/${collection}/search`, search] as const),
  ];
  const gets = ['', '/inspect', '/records/p1/r1', '/records/p0/none'].map(
    (path) => [`/collections/${collection}${path}`, undefined] as const,
  );
  for (const [path, body] of [...posts, ...gets, ['/collections', undefined] as const]) {
    const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
    const headers = { 'content-type': 'application/json' };
    const answers = NAMES.map(async (name) => {
      const answer = await fetch(`${pair[name].address}${path}`, { ...init, headers });
      return [answer.status, answer.headers.get('etag'), comparable(await answer.text())];
    });
    const [one, other] = await Promise.all(answers);
    expect([path, body, ...(other ?? [])]).toEqual([path, body, ...(one ?? [])]);
  }
}

/** Without what belongs to one request: its time, the sealed token of a page and the names of a problem. */
function comparable(text: string): string {
  return text
    .replace(/"continuationToken":"[^"]*"/, '"continuationToken":"…"')
    .replace(/"(requestId|traceId|correlationId|instance|generatedAt)":"[^"]*"/g, '"$1":"…"');
}
