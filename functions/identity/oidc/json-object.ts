export type JsonMembers = Readonly<Record<string, unknown>>;

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
    // Fewer members than were written means that a name was written twice, in whatever spelling.
    return membersOf(value, depthMax) === membersWritten(text) ? value : undefined;
  } catch {
    return undefined;
  }
}

export function isJsonObject(value: unknown): value is JsonMembers {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The colons outside of strings: each member of a JSON text has exactly one. */
function membersWritten(text: string): number {
  let members = 0;
  let inString = false;
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at];
    if (inString && char === '\\') at += 1;
    else if (char === '"') inString = !inString;
    else if (!inString && char === ':') members += 1;
  }
  return members;
}

/** The members at every level; throws a RangeError below `depth` levels. */
function membersOf(value: unknown, depth: number): number {
  if (typeof value !== 'object' || value === null) return 0;
  if (depth === 0) throw new RangeError('the JSON text is nested too deeply');
  const within = Object.values(value).reduce<number>((sum, item) => sum + membersOf(item, depth - 1), 0);
  return Array.isArray(value) ? within : within + Object.keys(value).length;
}
