import type { OperationEntry } from '../../contracts/operation.ts';
import { ServiceError } from '../kernel/errors.ts';
import type { Headers } from './headers.ts';

/**
 * Refuses changing requests from a page of another origin. A server without credentials cannot distinguish a foreign
 * page, open in a browser of this machine, from its own user; the browser can. A program that is no browser sends none
 * of these fields.
 */
export function refuseForeignOrigin(
  method: string,
  { mutation }: Pick<OperationEntry, 'mutation'>,
  headers: Headers,
  allowedOrigins: readonly string[],
): void {
  if (mutation === 'read' && (method === 'GET' || method === 'HEAD')) return;
  const origin = headers.get('origin');
  const isForeign =
    origin === undefined
      ? isForeignSite(headers.get('sec-fetch-site'))
      : !allowedOrigins.includes(origin) && !isOriginOf(origin, headers.get('host'));
  if (!isForeign) return;
  throw new ServiceError(
    'permission_denied',
    'A page of another origin may not change anything in Development. Name its origin in Cors:AllowedOrigins.',
  );
}

/** A browser without an Origin header still sends the kind of site of a request. `none` is the address bar. */
function isForeignSite(site: string | undefined): boolean {
  return site === 'cross-site' || site === 'same-site';
}

function isOriginOf(origin: string, host: string | undefined): boolean {
  return host !== undefined && /^https?:\/\//.test(origin) && origin.replace(/^https?:\/\//, '') === host;
}
