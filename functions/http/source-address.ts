import { isIPv4, isIPv6 } from 'node:net';

/**
 * The address that a limit counts. The caller may have written all entries of `X-Forwarded-For` but the last few, so
 * only the one that the outermost trusted proxy added counts: the N-th from the right for N proxies, and none for N =
 * 0.
 */
export function sourceAddress(
  socketAddress: string,
  forwardedFor: string | undefined,
  trustedProxyHops: number,
): string {
  if (trustedProxyHops > 0 && forwardedFor !== undefined) {
    const entries = forwardedFor.split(',');
    const entry = normalizeAddress(withoutPort(entries[entries.length - trustedProxyHops]?.trim() ?? ''));
    if (entry !== null) return entry;
  }
  // One shared partition where there is no address.
  return normalizeAddress(socketAddress) ?? 'unknown';
}

/**
 * One spelling for an address. IPv6 is cut to its /64, the smallest network that one subscriber is given.
 * @testonly
 */
export function normalizeAddress(text: string): string | null {
  if (isIPv4(text)) return text;
  const address = text.split('%')[0] ?? '';
  if (!isIPv6(address)) return null;
  const groups = expand(address);
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) {
    const [high = 0, low = 0] = groups.slice(6);
    return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
  }
  return `${groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':')}::/64`;
}

function withoutPort(entry: string): string {
  const bracketed = /^\[([^\]]*)\](?::[0-9]{1,5})?$/.exec(entry);
  if (bracketed) return bracketed[1] ?? '';
  const colon = entry.indexOf(':');
  return colon >= 0 && colon === entry.lastIndexOf(':') ? entry.slice(0, colon) : entry;
}

/** The eight groups of a valid IPv6 address. */
function expand(address: string): number[] {
  const [head = '', tail] = address.split('::');
  const left = groupsOf(head);
  if (tail === undefined) return left;
  const right = groupsOf(tail);
  return [...left, ...Array<number>(Math.max(0, 8 - left.length - right.length)).fill(0), ...right];
}

function groupsOf(text: string): number[] {
  if (text === '') return [];
  return text.split(':').flatMap((group) => {
    if (!group.includes('.')) return [Number.parseInt(group, 16)];
    const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number);
    return [(a << 8) | b, (c << 8) | d];
  });
}
