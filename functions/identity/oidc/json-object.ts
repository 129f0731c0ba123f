import { isJsonObject, type JsonMembers } from '../../kernel/json-kinds.ts';
import { repeatedMember } from '../../kernel/repeated-member.ts';

/** Deeper than the claims of real tokens. It bounds every later recursion over them. */
const depthMax = 16;

// The decoder keeps a byte order mark, and JSON.parse then refuses it.
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * The JSON object in these bytes. Returns `undefined` for bytes that are not UTF-8, not a JSON object, nested deeper than 16 levels,
 * or with a repeated member at any level, because two readers could see different claims (RFC 7519 section 4).
 */
export function parseJsonObject(bytes: Uint8Array): JsonMembers | undefined {
  try {
    const text = utf8.decode(bytes);
    const value: unknown = JSON.parse(text);
    if (!isJsonObject(value)) return undefined;
    return isWithinDepth(value, depthMax) && repeatedMember(text) === undefined ? value : undefined;
  } catch {
    return undefined;
  }
}

function isWithinDepth(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return depth > 0 && Object.values(value).every((item) => isWithinDepth(item, depth - 1));
}
