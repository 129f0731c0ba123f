import { exportCollection } from '../../collections/export-collection.ts';
import { inspectCollection as countCollection } from '../../collections/inspect-collection.ts';
import { collectionMissing, listCollectionNames, readCollection } from '../../collections/read-policy.ts';
import type { GroupHandlers } from '../../http/handler.ts';
import { listHeaders } from '../../http/list-headers.ts';
import type { JobLayers } from '../../jobs/job-family.ts';
import { invalidMember } from '../../kernel/errors.ts';
import { JsonText } from '../../kernel/json-value-text.ts';
import { formatUtc } from '../../kernel/timestamp.ts';
import { inspectionText } from './inspection-text.ts';

type Handlers = GroupHandlers<'collections'>;
type Layers = Pick<JobLayers, 'records' | 'access'>;

const NAMES_MAX = 10_000;
const ANOMALIES_DEFAULT = 50;

export function listCollections({ records, access }: Layers): Handlers['listCollections'] {
  return async ({ query }, { caller }) => {
    const space = access.spaceOf(caller, 'read');
    const after = nameIn(query.continuationToken);
    const names = await listCollectionNames(records, space, { after, limit: NAMES_MAX + 1 });
    const body = names.slice(0, NAMES_MAX);
    const last = names.length > NAMES_MAX ? body.at(-1) : undefined;
    const next = last === undefined ? null : { continuationToken: tokenOf(last) };
    return { status: 200, body, headers: listHeaders('/collections', {}, { next, cut: false }) };
  };
}

function tokenOf(name: string): string {
  return Buffer.from(name).toString('base64url');
}

function nameIn(token: string | undefined): string | null {
  if (token === undefined) return null;
  const name = Buffer.from(token, 'base64url').toString();
  if (tokenOf(name) === token && /^[\w.-]+$/.test(name)) return name;
  throw invalidMember(
    '/continuationToken',
    'is not a continuation token of a query',
    'continuation_token_invalid',
  );
}

export function getCollection({ records, access }: Layers): Handlers['getCollection'] {
  return async ({ params }, { caller }) => {
    const space = access.spaceOf(caller, 'read');
    const collection = await readCollection(records, space, params.collection);
    if (collection === null) throw collectionMissing(params.collection);
    return { status: 200, body: collection.policy };
  };
}

export function exportCollectionBounded({ records, access }: Layers): Handlers['exportCollectionBounded'] {
  return async ({ params, body }, context) => {
    const space = access.spaceOf(context.caller, 'read');
    const exported = await exportCollection(records, space, params.collection, body, context);
    const { collection, maxRecords, continuationToken, contentHash, valueHash } = exported;
    const end = JSON.stringify({
      query: body.query ?? null,
      maxRecords,
      recordCount: exported.records.length,
      truncated: continuationToken !== null,
      continuationToken,
      exportedAt: formatUtc(context.now),
      contentHash,
      valueHash,
    });
    const start = JSON.stringify({ collection: collection.name, policy: collection.policy });
    const text = `${start.slice(0, -1)},"records":[${exported.records.join(',')}],${end.slice(1)}`;
    return { status: 200, body: new JsonText(text) };
  };
}

export function inspectCollection({ records, access }: Layers): Handlers['inspectCollection'] {
  return async ({ params, query }, context) => {
    const space = access.spaceOf(context.caller, 'read');
    const { includeAnomalies = true, anomalyLimit = ANOMALIES_DEFAULT } = query;
    const anomaliesMax = includeAnomalies ? anomalyLimit : 0;
    const inspected = await countCollection(records, space, params.collection, anomaliesMax, context);
    const text = inspectionText(inspected, formatUtc(context.now), inspected.inspection.anomalies);
    return { status: 200, body: new JsonText(text) };
  };
}
