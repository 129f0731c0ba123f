import { canonicalJson, type Json } from '../kernel/canonical-json.ts';
import { parseStrictJsonText } from '../kernel/strict-json.ts';
import { manifestLimits } from './chunk-list.ts';
import { SnapshotError } from './snapshot-error.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export function utf8Text(bytes: Uint8Array, place: { readonly object: string }): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new SnapshotError('malformed', 'is not UTF-8', place);
  }
}

/**
 * Parses a text that must be the canonical JSON of its value. Throws for any other text, for example with a repeated member, and for
 * nesting deeper than a line or a manifest of stored records has.
 */
export function canonicalValue(
  json: string,
  place: { readonly object?: string; readonly line?: number },
): Json {
  try {
    const value = parseStrictJsonText(json, manifestLimits);
    if (canonicalJson(value) === json) return value;
  } catch {
    // The check below refuses the text, like JSON that is not canonical.
  }
  throw new SnapshotError('malformed', 'is not canonical JSON', place);
}
