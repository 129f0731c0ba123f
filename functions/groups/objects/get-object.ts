import { carriesBytes, StoredBytes, selectionOf } from '../../http/byte-answer.ts';
import type { CallContext, GroupHandlers } from '../../http/handler.ts';
import type { RecordAccess } from '../../identity/record-access.ts';
import { ExpectedAbsence } from '../../kernel/errors.ts';
import type { ByteLease } from '../../objects/object-memory.ts';
import type { ObjectParts } from '../../objects/parts.ts';
import { readObject } from '../../objects/read-object.ts';
import { DEFAULT_MEDIA_TYPE } from '../../objects/rules/media-type.ts';
import { metadataFields } from '../../objects/rules/metadata.ts';
import type { ObjectInfo } from '../../objects/rules/object-info.ts';
import { readPlace } from '../../objects/rules/object-name.ts';

const SLICE_BYTES = 64 * 1024;

/**
 * The bytes count as held from before the fetch until the answer is sent. They are fetched before the status line, so that a failed
 * read is an error response and no broken body.
 */
export function getObject(objects: ObjectParts, access: RecordAccess): GroupHandlers<'objects'>['getObject'] {
  return async ({ params }, context) => {
    const space = access.spaceOf(context.caller, 'read');
    const lease = objects.bytes.lease(space);
    try {
      const found = await readObject(objects, space, readPlace(params), { lease, wants: wantsOf(context) });
      if (found === null) throw new ExpectedAbsence('The container has no object of this key.');
      const { info, bytes } = found;
      // A call in the process has no end of an answer, so its bytes count until they are fetched.
      if (context.settled === undefined) lease.release();
      else context.settled(() => lease.release());
      return { status: 200, body: answerOf(info, bytes, lease), headers: fieldsOf(info) };
    } catch (error) {
      lease.release();
      throw error;
    }
  };
}

/** `HEAD` returns only header fields, a caller with a current copy gets 304, and a range after the end gets 416. */
function wantsOf({ header, method = 'GET' }: CallContext): (info: ObjectInfo) => boolean {
  const selection = selectionOf(method, header ?? (() => undefined));
  return ({ etag, contentLength, updatedAt }) =>
    carriesBytes(selection, { etag: `"${etag}"`, size: contentLength, modifiedAt: Date.parse(updatedAt) });
}

/** The answer with the bytes. The server disconnects a slow client if other calls need the memory. */
function answerOf(
  { contentType, contentLength, etag, updatedAt }: ObjectInfo,
  bytes: Uint8Array | null,
  lease: ByteLease,
): StoredBytes {
  const cut = new AbortController();
  // Keep the only reference to the bytes here, so that the memory of the whole object is freed once a part was copied.
  const kept = { bytes };
  return new StoredBytes({
    mediaType: contentType ?? DEFAULT_MEDIA_TYPE,
    size: contentLength,
    etag: `"${etag}"`,
    modifiedAt: Date.parse(updatedAt),
    cut: cut.signal,
    async *open(start, end) {
      if (kept.bytes === null) throw new Error('the answer to HEAD or a known tag sends bytes');
      const part = partOf(kept.bytes, start, end);
      kept.bytes = null;
      lease.serve((error) => cut.abort(error), part.buffer.byteLength);
      for (let at = 0; at < part.byteLength; at += SLICE_BYTES) {
        const slice = part.subarray(at, at + SLICE_BYTES);
        yield slice;
        lease.progress(slice.byteLength);
      }
    },
  });
}

/** Copies a small part, so that the memory of the whole object is free while a client reads the part. */
function partOf(bytes: Uint8Array, start: number, end: number): Uint8Array {
  const part = bytes.subarray(start, end);
  return part.byteLength * 2 > bytes.byteLength ? part : new Uint8Array(part);
}

/** Fields that make a browser save the object, so that a foreign page or picture never runs with the rights of this origin. */
function fieldsOf({ etag, contentHash, metadata, updatedAt }: ObjectInfo) {
  return {
    ETag: `"${etag}"`,
    'Last-Modified': new Date(updatedAt).toUTCString(),
    'X-Svc-Content-Hash': contentHash,
    'Content-Disposition': 'attachment',
    'Content-Security-Policy': 'sandbox',
    ...metadataFields(metadata),
  };
}
