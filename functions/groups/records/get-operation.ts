import { getRecord as readRecord } from '../../collections/read-record.ts';
import type { GroupHandlers } from '../../http/handler.ts';
import type { JobLayers } from '../../jobs/job-family.ts';
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
