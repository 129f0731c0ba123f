import type { ReadCall } from '../collections/read-call.ts';
import type { ReadLane } from '../collections/read-lanes.ts';
import { OBJECTS, spaceScope } from '../collections/store-collections.ts';
import { LIST_ANSWER_MAX, listPages, recordsOf } from '../store/pages.ts';
import type { RecordData } from '../store/port.ts';
import type { ObjectParts } from './parts.ts';
import type { ObjectInfo } from './rules/object-info.ts';
import type { ObjectListQuery } from './rules/object-list.ts';
import { infoIn, objectKey } from './stored-object.ts';

const PAGE = 500;

export interface ObjectPage {
  readonly items: readonly ObjectInfo[];
  /** The key after which the next page begins; `null` after the last page. */
  readonly next: string | null;
}

/** The objects of a container whose keys begin with the prefix, in the order of the bytes of their keys. */
export function listObjects(
  parts: ObjectParts,
  space: string,
  query: ObjectListQuery,
  call: ReadCall = {},
): Promise<ObjectPage> {
  return parts.records.lanes.run(space, (lane) => pageOf(parts, space, query, lane), call);
}

async function pageOf(
  parts: ObjectParts,
  space: string,
  query: ObjectListQuery,
  lane: ReadLane,
): Promise<ObjectPage> {
  const items: ObjectInfo[] = [];
  let characters = 0;
  for await (const record of found(parts, space, query)) {
    const info = infoIn(record.head);
    if (!info.key.startsWith(query.prefix)) break;
    const size = JSON.stringify(info).length;
    const isFull = items.length === query.limit || (items.length > 0 && characters + size > LIST_ANSWER_MAX);
    if (isFull) return { items, next: items.at(-1)?.key ?? null };
    lane.passed(1, size);
    characters += size;
    items.push(info);
  }
  return { items, next: null };
}

/** The listing begins after a key, so the object whose key equals the prefix is read separately. */
async function* found(
  { records: { store } }: ObjectParts,
  space: string,
  { container, prefix, limit, after }: ObjectListQuery,
): AsyncGenerator<RecordData, void, undefined> {
  const scope = spaceScope(space);
  const opened = await store();
  if (after === null && prefix !== '') {
    const keys = [{ key: objectKey({ container, key: prefix }) }];
    yield* (await opened.query(scope, { by: 'keys', keys })).records;
  }
  const behind = after ?? prefix;
  const selection = {
    collection: OBJECTS,
    group: container,
    view: 'head',
    limit: Math.min(limit + 1, PAGE),
    ...(behind === '' ? {} : { afterId: behind }),
  } as const;
  yield* recordsOf(listPages(opened, scope, selection));
}
