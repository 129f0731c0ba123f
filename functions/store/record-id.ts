import { hash } from 'node:crypto';
import { canonicalJson } from '../kernel/canonical-json.ts';

/**
 * The id of the record that these parts name: the first 128 bits of SHA-256 over their JSON array, as hexadecimal.
 *
 * A caller's string is never part of a storage path: ids may hold slashes, be sequential or be a reserved word, and
 * all of that is harmless here. Hexadecimal sorts alike in every database, which makes the record order portable.
 */
export function recordId(...parts: readonly string[]): string {
  return hash('sha256', canonicalJson(parts), 'hex').slice(0, 32);
}
