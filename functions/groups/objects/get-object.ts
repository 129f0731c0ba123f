import { matches, StoredBytes } from '../../http/byte-answer.ts';
import type { CallContext, GroupHandlers } from '../../http/handler.ts';
import { ExpectedAbsence } from '../../kernel/errors.ts';
import { readObject } from '../../objects/read-object.ts';
import { DEFAULT_MEDIA_TYPE } from '../../objects/rules/media-type.ts';
import { metadataFields } from '../../objects/rules/metadata.ts';
import type { ObjectInfo } from '../../objects/rules/object-info.ts';
import { readPlace } from '../../objects/rules/object-name.ts';
import type { ObjectsDependencies } from './dependencies.ts';

const SLICE_BYTES = 64 * 1024;

/**
 * The bytes count as held from before they are fetched until the answer is sent. They are fetched before the status line, so that
 * one that cannot be read is a refusal and no broken answer.
 */
export function getObject({ objects, access }: ObjectsDependencies): GroupHandlers<'objects'>['getObject'] {
  return async ({ params }, context) => {
    const space = access.spaceOf(context.caller, 'read');
    const lease = objects.bytes.lease(space);
    try {
      const found = await readObject(objects, space, readPlace(params), { lease, wants: wantsOf(context) });
      if (found === null) throw new ExpectedAbsence('The container has no object of this key.');
      const { info, bytes } = found;
      // A call inside the process has no end of an answer, so its bytes count until they are fetched.
      if (context.settled === undefined) lease.release();
      else context.settled(() => lease.release());
      return { status: 200, body: answerOf(info, bytes), headers: fieldsOf(info) };
    } catch (error) {
      lease.release();
      throw error;
    }
  };
}

/** `HEAD` asks for the fields alone, and a caller that has the bytes gets 304. */
function wantsOf({ header, method }: CallContext): (info: ObjectInfo) => boolean {
  const known = header?.('if-none-match');
  return ({ etag }) => method !== 'HEAD' && (known === undefined || !matches(known, `"${etag}"`));
}

function answerOf({ contentType, contentLength, etag }: ObjectInfo, bytes: Uint8Array | null): StoredBytes {
  return new StoredBytes({
    mediaType: contentType ?? DEFAULT_MEDIA_TYPE,
    size: contentLength,
    etag: `"${etag}"`,
    async *open(start, end) {
      if (bytes === null) throw new Error('the answer to HEAD or a known tag sends bytes');
      for (let at = start; at < end; at += SLICE_BYTES)
        yield bytes.subarray(at, Math.min(at + SLICE_BYTES, end));
    },
  });
}

/** A browser that is led to an object saves it: a page or a picture of a stranger never runs with the rights of this origin. */
function fieldsOf({ etag, contentHash, metadata }: ObjectInfo) {
  return {
    ETag: `"${etag}"`,
    'X-Svc-Content-Hash': contentHash,
    'Content-Disposition': 'attachment',
    'Content-Security-Policy': 'sandbox',
    ...metadataFields(metadata),
  };
}
