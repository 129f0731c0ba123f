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
 * A text is its value's one canonical text: anything else, such as a member that stands twice, is refused, and so is a text that is
 * nested deeper than a line or a manifest of stored records.
 */
export function canonicalValue(
  json: string,
  place: { readonly object?: string; readonly line?: number },
): Json {
  try {
    const value = parseStrictJsonText(json, manifestLimits);
    if (canonicalJson(value) === json) return value;
  } catch {
    // Refused below, as what parses and is not canonical.
  }
  throw new SnapshotError('malformed', 'is not canonical JSON', place);
}
