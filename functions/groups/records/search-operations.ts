import { queryRecords as findRecords } from '../../collections/query-records.ts';
import { searchRecords as rankRecords } from '../../collections/search-records.ts';
import type { GroupHandlers } from '../../http/handler.ts';
import type { JobLayers } from '../../jobs/job-family.ts';
import { JsonText } from '../../kernel/json-value-text.ts';

type Handlers = GroupHandlers<'records'>;
type Layers = Pick<JobLayers, 'records' | 'access'>;

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
