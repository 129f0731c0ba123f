import { type JsonObject, sha256 } from '../../kernel/canonical-json.ts';

/** A proposed file, which a person may write: the service writes none. */
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
