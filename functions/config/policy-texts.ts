import { limits } from '../../contracts/generated/limits.ts';

/** Functions that check the access policies of all parts of the service. */

export function operationFaults(allowed: readonly string[], known: readonly string[]): string[] {
  if (allowed.length === 0) return ['has no AllowedOperations'];
  const others = allowed.filter((operation) => !known.includes(operation));
  return others.map((operation) => `allows ${operation}, which is none of ${known.join(', ')}`);
}

/** Whether the id looks like a pattern. There are no patterns: `acme-*` would match only that exact name. */
export function isPattern(id: string): boolean {
  return id !== '*' && id.includes('*');
}

/** Whether a path can carry the tenant id: a policy for any other id could never apply. */
export function isTenantId(text: string): boolean {
  const segment =
    !/[/\\%?#\p{C}]/u.test(text) && text !== '.' && text !== '..' && text.normalize('NFC') === text;
  return segment && Buffer.byteLength(text) <= limits.identifierBytesMax;
}
