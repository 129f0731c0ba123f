import { invalidMember } from '../../kernel/errors.ts';
import type { IngestDocument } from './ingest-document.ts';
import { COPIED_BYTES_MAX } from './limits.ts';

type Copied = Pick<IngestDocument, 'metadata' | 'sources'>;

/** The bytes of the metadata and sources of a request, which the record of every chunk repeats. */
export function copiedBytes(document: Copied): number {
  return metadataBytes(document) + sourceBytes(document);
}

/** The largest repeated member of a document. */
export function heavierMember(document: Copied): 'metadata' | 'sources' {
  return metadataBytes(document) < sourceBytes(document) ? 'sources' : 'metadata';
}

/** The refusal of a document whose chunks together would repeat too much. */
export function tooManyCopies(document: Copied, pointer: string) {
  const bytes = copiedBytes(document);
  const detail = `is repeated by every chunk: metadata and sources have ${bytes} bytes, and all chunks together may repeat ${COPIED_BYTES_MAX}: shorten them, or use larger chunks`;
  return invalidMember(`${pointer}/${heavierMember(document)}`, detail, 'limit_exceeded');
}

function metadataBytes({ metadata }: Copied): number {
  return metadata.reduce(
    (sum, { name, value }) => sum + Buffer.byteLength(name) + Buffer.byteLength(value),
    0,
  );
}

function sourceBytes({ sources }: Copied): number {
  return sources.reduce((sum, each) => sum + Buffer.byteLength(each), 0);
}
