import { isIPv4 } from 'node:net';

/**
 * Whether a `Host` field (RFC 9112 section 3.2) names this very machine: `localhost` and its subdomains (RFC 6761
 * section 6.3), 127.0.0.0/8 or ::1, on any port. A page of another site can have its own name resolve to 127.0.0.1, and
 * then reaches a service on loopback as if from its own origin; but its requests cannot carry one of these names.
 */
export function isLoopbackHost(host: string): boolean {
  const [, name = ''] = /^(\[::1\]|[A-Za-z0-9.-]{1,253})(?::\d{0,5})?$/.exec(host.trim()) ?? [];
  if (name === '[::1]') return true;
  if (isIPv4(name)) return name.startsWith('127.');
  return /^(?:[a-z0-9-]+\.)*localhost$/.test(name.toLowerCase());
}
