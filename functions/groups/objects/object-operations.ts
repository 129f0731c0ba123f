import type { CallContext, GroupHandlers } from '../../http/handler.ts';
import type { RecordAccess } from '../../identity/record-access.ts';
import type { Conditions } from '../../kernel/conditions.ts';
import { invalidMember } from '../../kernel/errors.ts';
import type { PageTokens } from '../../kernel/page-token.ts';
import { deleteObject as removeObject } from '../../objects/delete-object.ts';
import { listObjects as findObjects } from '../../objects/list-objects.ts';
import type { ObjectParts } from '../../objects/parts.ts';
import { putObject as writeObject } from '../../objects/put-object.ts';
import { readMediaType } from '../../objects/rules/media-type.ts';
import { metadataInFields } from '../../objects/rules/metadata.ts';
import { readObjectList } from '../../objects/rules/object-list.ts';
import { readPlace } from '../../objects/rules/object-name.ts';

type Handlers = GroupHandlers<'objects'>;

export function listObjects(
  objects: ObjectParts,
  access: RecordAccess,
  pageTokens: PageTokens,
): Handlers['listObjects'] {
  return async ({ params: { container }, query }, context) => {
    const space = access.spaceOf(context.caller, 'read');
    const { prefix, limit, continuationToken } = query;
    const { limit: _, after: __, ...list } = readObjectList({ container, prefix, limit });
    const of = { list: 'objects', space, ...list };
    const after = await pageTokens.read(of, continuationToken);
    const page = await findObjects(
      objects,
      space,
      readObjectList({ container, prefix, limit, after }),
      context,
    );
    return {
      status: 200,
      body: { items: [...page.items], continuationToken: await pageTokens.issue(of, page.next) },
    };
  };
}

export function putObject(objects: ObjectParts, access: RecordAccess): Handlers['putObject'] {
  return async ({ params, body }, context) => {
    const space = access.spaceOf(context.caller, 'write');
    // RFC 9110 section 14.5: a partial PUT would replace the whole object by a part.
    if (context.header?.('content-range') !== undefined)
      throw invalidMember('/Content-Range', 'is not allowed: an object is written whole');
    const info = await writeObject(objects, space, {
      place: readPlace(params),
      contentType: readMediaType(context.header?.('content-type'), '/Content-Type'),
      metadata: metadataInFields(context.fields?.() ?? []),
      condition: conditionsOf(context),
      body,
      declaredBytes: declaredBytes(context),
    });
    return { status: 200, body: info };
  };
}

export function deleteObject(objects: ObjectParts, access: RecordAccess): Handlers['deleteObject'] {
  return async ({ params }, context) => {
    const space = access.spaceOf(context.caller, 'delete');
    await removeObject(objects, space, readPlace(params), conditionsOf(context));
    return { status: 204, body: null };
  };
}

function conditionsOf({ header }: Pick<CallContext, 'header'>): Conditions {
  return { ifMatch: header?.('if-match'), ifNoneMatch: header?.('if-none-match') };
}

/** The declared length, which HTTP has checked; `null` for a body in chunks. */
function declaredBytes({ header }: Pick<CallContext, 'header'>): number | null {
  const declared = header?.('content-length');
  return declared === undefined ? null : Number(declared);
}
