import { type JsonObject, sha256 } from '../../kernel/canonical-json.ts';

/** A file that a person may write or not: the service writes none. */
export function proposedFile(path: string, content: string): JsonObject {
  return {
    path,
    kind: 'file',
    action: 'propose',
    content,
    contentHash: sha256(content),
    evidenceRefs: [],
    metadata: null,
  };
}
