import {
  deleteRecord as removeRecord,
  upsertRecord as writeRecord,
} from '../../collections/write-records.ts';
import type { CallContext, GroupHandlers } from '../../http/handler.ts';
import type { JobLayers } from '../../jobs/job-family.ts';
import type { Conditions } from '../../kernel/conditions.ts';
import { JsonText } from '../../kernel/json-value-text.ts';

type Handlers = GroupHandlers<'records'>;
type Layers = Pick<JobLayers, 'records' | 'access'>;

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
