import { queryRecords as findRecords } from '../../collections/query-records.ts';
import { getRecord as readRecord } from '../../collections/read-record.ts';
import { searchRecords as rankRecords } from '../../collections/search-records.ts';
import {
  deleteRecord as removeRecord,
  upsertRecord as writeRecord,
} from '../../collections/write-records.ts';
import type { CallContext, GroupHandlers } from '../../http/handler.ts';
import type { JobLayers } from '../../jobs/job-family.ts';
import type { Conditions } from '../../kernel/conditions.ts';
import { ExpectedAbsence } from '../../kernel/errors.ts';
import { JsonText } from '../../kernel/json-value-text.ts';

type Handlers = GroupHandlers<'records'>;
type Layers = Pick<JobLayers, 'records' | 'access'>;

export function getRecord({ records, access }: Layers): Handlers['getRecord'] {
  return async ({ params: { collection, pk, id } }, { caller }) => {
    const space = access.spaceOf(caller, 'read');
    const found = await readRecord(records, space, collection, { partitionKey: pk, id });
    if (found === null)
      throw new ExpectedAbsence('The collection has no record of this partition key and id.');
    return { status: 200, body: new JsonText(found.json), headers: { ETag: `"${found.etag}"` } };
  };
}

export function deleteRecord({ records, access }: Layers): Handlers['deleteRecord'] {
  return async ({ params: { collection, pk, id } }, context) => {
    const space = access.spaceOf(context.caller, 'delete');
    await removeRecord(records, space, collection, { partitionKey: pk, id }, conditionsOf(context));
    return { status: 204, body: null };
  };
}

export function upsertRecord({ records, access }: Layers): Handlers['upsertRecord'] {
  return async ({ params: { collection }, text }, context) => {
    const space = access.spaceOf(context.caller, 'write');
    const conditions = conditionsOf(context);
    const { key, stamp, json } = await writeRecord(records, space, collection, text(), conditions);
    const place = [collection, 'records', key.partitionKey, key.id].map(encodeURIComponent).join('/');
    const headers = { Location: `/collections/${place}`, ETag: `"${stamp.etag}"` };
    return { status: 201, body: new JsonText(json), headers };
  };
}

function conditionsOf({ header }: Pick<CallContext, 'header'>): Conditions {
  return { ifMatch: header?.('if-match'), ifNoneMatch: header?.('if-none-match') };
}

export function queryRecords({ records, access }: Layers): Handlers['queryRecords'] {
  return async ({ params: { collection }, body }, context) => {
    const space = access.spaceOf(context.caller, 'read');
    const { records: items, continuationToken } = await findRecords(
      records,
      space,
      collection,
      body,
      context,
    );
    return pageOf(items, continuationToken);
  };
}

export function searchRecords({ records, access }: Layers): Handlers['searchRecords'] {
  return async ({ params: { collection }, body }, context) => {
    const space = access.spaceOf(context.caller, 'read');
    const { matches, continuationToken } = await rankRecords(records, space, collection, body, context);
    return pageOf(matches, continuationToken);
  };
}

function pageOf(items: readonly string[], continuationToken: string | null) {
  const token = JSON.stringify(continuationToken);
  return {
    status: 200 as const,
    body: new JsonText(`{"items":[${items.join(',')}],"continuationToken":${token}}`),
  };
}
