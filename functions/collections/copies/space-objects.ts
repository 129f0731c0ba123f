import type { RecordStore } from '../../store/port.ts';
import { OBJECT_LEFTOVERS, OBJECTS, spaceScope } from '../store-collections.ts';

/** Whether the space has objects, or bytes of objects that await their removal. Archives of spaces hold neither. */
export async function hasObjects(store: Pick<RecordStore, 'query'>, space: string): Promise<boolean> {
  for (const collection of [OBJECTS, OBJECT_LEFTOVERS]) {
    const selection = { by: 'list', collection, view: 'head', limit: 1 } as const;
    const { records } = await store.query(spaceScope(space), selection);
    if (records.length > 0) return true;
  }
  return false;
}
