import type { GroupHandlers } from '../../http/handler.ts';
import type { RecordAccess } from '../../identity/record-access.ts';
import type { PageTokens } from '../../kernel/page-token.ts';
import type { ObjectParts } from '../../objects/parts.ts';
import { getObject } from './get-object.ts';
import { deleteObject, listObjects, putObject } from './object-operations.ts';

/** The operations of the group objects over one store. */
export function objectsHandlers(
  objects: ObjectParts,
  access: RecordAccess,
  pageTokens: PageTokens,
): GroupHandlers<'objects'> {
  return {
    listObjects: listObjects(objects, access, pageTokens),
    putObject: putObject(objects, access),
    getObject: getObject(objects, access),
    deleteObject: deleteObject(objects, access),
  };
}
