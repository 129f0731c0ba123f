import { isJsonObject, type JsonMembers } from '../../kernel/json-kinds.ts';
import { repeatedMember } from '../../kernel/repeated-member.ts';

/** Deeper than any token nests; bounds every later walk over the claims. */
const depthMax = 16;

// A byte order mark is kept, and then refused by JSON.parse.
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * The JSON object in these bytes, or `undefined`: not UTF-8, not JSON, not an object, nested deeper than 16 levels, or with
 * a member named twice at any level. Two readers of one token may not see two different claims (RFC 7519 section 4).
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
