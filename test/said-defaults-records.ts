import { randomUUID } from 'node:crypto';

/** The behaviour of the service if members of requests on collections and records are absent. */

export type Call = (
  method: string,
  path: string,
  body?: object,
) => Promise<{ readonly status: number; readonly body: unknown }>;

export interface RecordBehaviour {
  /** A value that is not the default. */
  readonly other: unknown;
  /** Sends a request with these added members, and returns the observed behaviour. */
  readonly of: (call: Call, added: object) => Promise<unknown>;
}

interface Job {
  readonly id: string;
  readonly status: string;
  readonly result: unknown;
  readonly batchResult: unknown;
  readonly importResult: unknown;
}

const vector = { name: 'v', path: '/vectors/v/values', dimensions: 1 };
const records = ['a', 'b'].map((id) => ({ id, partitionKey: 'p', metadata: { n: id === 'a' ? 1 : 2 } }));

async function ended(call: Call, path: string): Promise<Job> {
  for (;;) {
    const job = (await call('GET', path)).body as Job;
    if (!['queued', 'waiting', 'running'].includes(job.status)) return job;
  }
}

export async function created(call: Call, policy: object = {}): Promise<{ name: string; run: Job }> {
  const name = `c-${randomUUID()}`;
  const { status, body } = await call('POST', '/collections', { name, ...policy });
  const run = status === 202 ? await ended(call, `/execution/runs/${(body as Job).id}`) : (body as Job);
  return { name, run };
}

async function filled(call: Call): Promise<string> {
  const { name } = await created(call);
  for (const record of records) await call('POST', `/collections/${name}/records`, record);
  return name;
}

async function jobOf(call: Call, path: string, body: object): Promise<Job> {
  const answer = await call('POST', path, body);
  if (answer.status !== 202) return { ...(answer.body as Job), status: String(answer.status) };
  return ended(call, `/record-import/jobs/${(answer.body as Job).id}`);
}

const counts = (result: unknown) => JSON.stringify(result, ['attempted', 'succeeded', 'failed', 'records']);

function policyMember(other: unknown): RecordBehaviour {
  return { other, of: async (call, added) => (await created(call, added)).run.status };
}

function vectorPolicyMember(member: string, other: unknown): RecordBehaviour {
  return {
    other,
    async of(call, added) {
      const { run } = await created(call, { vectorPolicies: [{ ...vector, ...added }] });
      const policy = run.result as { vectorPolicies?: readonly Record<string, unknown>[] } | undefined;
      return [run.status, policy?.vectorPolicies?.[0]?.[member]];
    },
  };
}

function vectorMember(other: unknown): RecordBehaviour {
  return {
    other,
    async of(call, added) {
      const { name } = await created(call, { vectorPolicies: [vector] });
      const record = { id: 'a', partitionKey: 'p', vectors: { v: { values: [1], ...added } } };
      return (await call('POST', `/collections/${name}/records`, record)).status;
    },
  };
}

/** Imports two records, the first of them invalid, into an absent collection or one with another policy. */
function importMember(
  other: unknown,
  more: (name: string) => { snapshot?: object; exists?: boolean },
): RecordBehaviour {
  return {
    other,
    async of(call, added) {
      const name = `c-${randomUUID()}`;
      const { snapshot = {}, exists = false } = more(name);
      if (exists) {
        const { body } = await call('POST', '/collections', { name, indexedMetadata: ['/metadata/n'] });
        await ended(call, `/execution/runs/${(body as Job).id}`);
      }
      const whole = { collection: name, policy: { name }, records, ...snapshot };
      const job = await jobOf(call, `/collections/${name}/import`, { snapshot: whole, ...added });
      return [job.status, counts((job.importResult as { records?: unknown } | null)?.records ?? null)];
    },
  };
}

const faulty = [{ id: 'a/b', partitionKey: 'p' }, ...records];

function queried(
  path: (name: string) => string,
  more: (added: object) => object,
  read: (body: unknown) => unknown,
  other: unknown,
): RecordBehaviour {
  return {
    other,
    async of(call, added) {
      const { status, body } = await call('POST', path(await filled(call)), more(added));
      return status === 200 ? read(body) : status;
    },
  };
}

const ids = (body: unknown) => (body as { items: readonly { id: string }[] }).items.map(({ id }) => id);
const queryPath = (name: string) => `/collections/${name}/query`;

export const recordsAsDone: Readonly<Record<string, RecordBehaviour>> = {
  'RecordCollectionPolicyInput.partitionKeyPath': policyMember('/metadata/pk'),
  'VectorFieldPolicyInput.datatype': vectorPolicyMember('datatype', 'float64'),
  'VectorFieldPolicyInput.distanceFunction': vectorPolicyMember('distanceFunction', 'euclidean'),
  'VectorFieldPolicyInput.indexType': vectorPolicyMember('indexType', 'diskANN'),
  'SvcVectorInput.datatype': vectorMember('float64'),
  'SvcVectorInput.distanceFunction': vectorMember('euclidean'),
  'FilterNode.op': queried(
    queryPath,
    (added) => ({ filter: { path: '/metadata/n', value: 1, ...added } }),
    ids,
    'neq',
  ),
  'OrderExpression.direction': queried(
    queryPath,
    (added) => ({ orderBy: [{ path: '/metadata/n', ...added }] }),
    ids,
    'desc',
  ),
  'CollectionExportRequest.failOnLimitExceeded': queried(
    (name) => `/collections/${name}/export`,
    (added) => ({ maxRecords: 1, ...added }),
    (body) => (body as { recordCount: number }).recordCount,
    false,
  ),
  'GET /collections/{collection}/inspect includeAnomalies': {
    other: false,
    async of(call, added) {
      const { name } = await created(call, { vectorPolicies: [vector] });
      for (const record of records) await call('POST', `/collections/${name}/records`, record);
      const query = Object.entries(added).map(([member, value]) => `?${member}=${String(value)}`);
      const { body } = await call('GET', `/collections/${name}/inspect${query.join('')}`);
      return (body as { anomalies: readonly unknown[] }).anomalies.length;
    },
  },
  'GET /record-import/jobs includeResult': {
    other: true,
    async of(call, added) {
      const name = await filled(call);
      const { id } = await jobOf(call, `/collections/${name}/records/batch`, { records });
      const query = Object.entries(added).map(([member, value]) => `&${member}=${String(value)}`);
      const { body } = await call('GET', `/record-import/jobs?limit=200${query.join('')}`);
      return counts((body as readonly Job[]).find((job) => job.id === id)?.batchResult);
    },
  },
  'RecordBatchUpsertRequest.continueOnError': {
    other: true,
    async of(call, added) {
      const name = await filled(call);
      const job = await jobOf(call, `/collections/${name}/records/batch`, { records: faulty, ...added });
      return counts(job.batchResult);
    },
  },
  'CollectionImportRequest.continueOnError': importMember(true, () => ({ snapshot: { records: faulty } })),
  'CollectionImportRequest.replaceExisting': importMember(true, () => ({ exists: true })),
  'CollectionImportRequest.allowCollectionRename': importMember(true, () => ({
    snapshot: { collection: 'another' },
  })),
  'CollectionImportRequest.allowPartialSnapshot': importMember(true, () => ({
    snapshot: { truncated: true },
  })),
  'CollectionExportEnvelopeInput.truncated': {
    other: true,
    async of(call, added) {
      const name = `c-${randomUUID()}`;
      const snapshot = { collection: name, policy: { name }, records, ...added };
      return (await jobOf(call, `/collections/${name}/import`, { snapshot })).status;
    },
  },
};
