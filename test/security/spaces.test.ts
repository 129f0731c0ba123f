import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { InjectedRequest } from '../../functions/http/host-inject.ts';
import { patienceMs } from '../support/effort.ts';
import { requestsNaming } from './characters-requests.ts';
import { type Belongings, type CharactersWorld, furnishParty, startCharacters } from './characters-world.ts';
import { recordGroups } from './matrix-records.ts';
import { containerOf, OBJECT } from './object-belongings.ts';
import { COLLECTION, PARTITION, POLICY, RECORD, recordOf } from './record-belongings.ts';
import { RecordSpace } from './record-space.ts';
import { contractModels } from './schema-set.ts';
import { allEntries, routesOf } from './target.ts';

vi.setConfig({ testTimeout: patienceMs, hookTimeout: patienceMs });

let world: CharactersWorld;
let victims: Belongings;
let space: RecordSpace;
beforeAll(async () => {
  world = await startCharacters();
  const { service, victim } = world;
  victims = await furnishParty(service, victim);
  const { productId, tenantId } = victim;
  space = new RecordSpace(
    service.call,
    victim.headers,
    `?${new URLSearchParams({ productId, tenantId }).toString()}`,
  );
});
afterAll(() => world.close());

/** A collection with a record, of a name that only the victim has. */
async function privateCollection(): Promise<string> {
  const name = `private-${randomUUID()}`;
  await space.create({ ...POLICY, name });
  const records = [recordOf(world.victim, RECORD)];
  await space.settled(await space.admit('POST', `/collections/${name}/records/batch`, { records }));
  return name;
}

/** The collection as the victim reads it. */
async function kept(name: string): Promise<string> {
  const texts = [
    await space.send('GET', `/collections/${name}`),
    await space.send('GET', `/collections/${name}/records/${PARTITION}/${RECORD}`),
    await space.send('GET', `/objects/${containerOf(world.victim)}/${OBJECT}`),
  ];
  return texts.map(({ status, text }) => `${status} ${text}`).join('\n');
}

describe('D04: what one space holds is worth nothing in another', () => {
  const routes = routesOf(allEntries.filter(({ group }) => recordGroups.has(group))).filter(
    ({ route }) => route.path.length > 0,
  );

  test.each(routes)('$name', async ({ entry, route }) => {
    const { service, victim, neighbour } = world;
    const [request] = requestsNaming({ set: contractModels(), entry, route }, victim, victims);
    if (request === undefined) throw new Error('there is no request');
    const collection = await privateCollection();
    const before = await kept(collection);
    expect(before).toMatch(/^200 .*\n200 .*\n200 /);
    expect(before).toContain(victim.mark);
    // The neighbour asks in its own space for the names of the victim, and for names that no space has.
    const absent = { job: randomUUID(), collection: `absent-${randomUUID()}` };
    const { jobId, embeddingJobId, ingestionJobId, evaluationJobId, graphJobId } = victims.records;
    const jobs = [jobId, embeddingJobId, ingestionJobId, evaluationJobId, graphJobId];
    const ask = (names: Names) =>
      service.call(renamed(request, names, neighbour.headers, [jobs, victim, neighbour]));
    const named = await ask({ job: null, collection });
    const unknown = await ask(absent);
    expect([named.status, codeIn(named.body)]).toEqual([unknown.status, codeIn(unknown.body)]);
    // The same container and key in its own space are free; a preflight and a shape are answered where nothing is there.
    const isFree = named.status === 200 && (entry.group === 'objects' || answersAlways.has(entry.id));
    expect(isFree || named.status === 202 || named.status === 204 || named.status >= 400).toBe(true);
    expect(named.body).not.toContain(victim.mark);
    if (named.status === 202) {
      const { id } = named.json<{ id: string }>();
      await new RecordSpace(service.call, neighbour.headers).settled(id);
    }
    expect(await kept(collection)).toBe(before);
  });
});

test('D04: the idempotency key of a job in one space neither finds nor refuses a job of another', async () => {
  const { service, victim, neighbour } = world;
  const name = `keyed-${randomUUID()}`;
  const key = { 'Idempotency-Key': `key-${randomUUID()}` };
  const admit = async ({ headers, productId, tenantId }: typeof victim, id: string) => {
    const query = new URLSearchParams({ productId, tenantId }).toString();
    const path = `/collections/${name}/records/batch?${query}`;
    const records = [{ id, partitionKey: PARTITION }];
    const { status, text } = await new RecordSpace(service.call, headers).send(
      'POST',
      path,
      { records },
      key,
    );
    return { status, text, id: (JSON.parse(text) as { id?: string }).id };
  };
  const first = await admit(victim, 'one');
  const equal = await admit(neighbour, 'one');
  expect([first.status, equal.status]).toEqual([202, 202]);
  expect(equal.id).not.toBe(first.id);
  // Each space keeps its own use of the key.
  expect((await admit(victim, 'one')).id).toBe(first.id);
  expect((await admit(neighbour, 'one')).id).toBe(equal.id);
  const others = [await admit(victim, 'two'), await admit(neighbour, 'two')];
  expect(others.map(({ status, text }) => [status, codeIn(text)])).toEqual([
    [409, 'idempotency_conflict'],
    [409, 'idempotency_conflict'],
  ]);
});

const answersAlways: ReadonlySet<string> = new Set(['preflightGraphImport', 'getGraphProviderShape']);

function codeIn(body: string): string | undefined {
  return body === '' ? undefined : (JSON.parse(body) as { code?: string }).code;
}

interface Names {
  /** In place of the jobs of the victim; `null` keeps them. */
  readonly job: string | null;
  readonly collection: string;
}

/** The request with other names, in the product and tenant of the one who asks. */
function renamed(
  request: InjectedRequest,
  { job, collection }: Names,
  headers: Readonly<Record<string, string>>,
  [jobIds, from, to]: readonly [
    readonly string[],
    { readonly tenantId: string },
    { readonly tenantId: string },
  ],
): InjectedRequest {
  const withoutJobs = (text: string) =>
    job === null ? text : jobIds.reduce((left, jobId) => left.replaceAll(jobId, job), text);
  const change = (text: string) =>
    withoutJobs(text)
      .replaceAll(`/${COLLECTION}`, `/${collection}`)
      .replaceAll(`"${COLLECTION}"`, `"${collection}"`)
      .replaceAll(from.tenantId, to.tenantId);
  const { body } = request;
  const given = (request.headers ?? []) as readonly (readonly [string, string])[];
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return {
    method: request.method,
    path: change(request.path),
    headers: [...given, ...Object.entries(headers)],
    ...(body === undefined ? {} : { body: change(text) }),
  };
}
