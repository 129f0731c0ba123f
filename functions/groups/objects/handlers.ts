import type { GroupHandlers } from '../../http/handler.ts';
import type { ObjectsDependencies } from './dependencies.ts';
import { getObject } from './get-object.ts';
import { deleteObject, listObjects, putObject } from './object-operations.ts';

/** The operations of the group objects over one store. */
export function objectsHandlers(dependencies: ObjectsDependencies): GroupHandlers<'objects'> {
  return {
    listObjects: listObjects(dependencies),
    putObject: putObject(dependencies),
    getObject: getObject(dependencies),
    deleteObject: deleteObject(dependencies),
  };
}
