import { canonicalJson, type JsonObject, sha256 } from '../../kernel/canonical-json.ts';
import { identifier } from '../../kernel/identifiers.ts';
import type { WriteName } from '../../runs/rules/answered.ts';

/** The worker's name for a repeatable write, with the hash of the write; `null` without a name. */
export function writeNameOf(
  id: string | null | undefined,
  write: () => JsonObject,
  pointer = '/writeId',
): WriteName | null {
  if (id === undefined || id === null) return null;
  return { id: identifier(id, pointer), requestHash: sha256(canonicalJson(write())) };
}
