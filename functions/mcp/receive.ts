import { correlationHeader } from '../http/correlation.ts';
import {
  checkHeaderLimits,
  type HeaderLimits,
  type Headers,
  headerLimits,
  readHeaders,
  refuseFaultyFraming,
  requireJson,
} from '../http/headers.ts';
import { isLoopbackHost } from '../http/loopback-host.ts';
import type { RawRequest } from '../http/message.ts';
import { ServiceError } from '../kernel/errors.ts';

export interface ReceiveOptions {
  readonly headerLimits?: HeaderLimits;
  /** More header fields that may occur only once, in lower case. */
  readonly singleHeaders?: readonly string[];
  /** Origins whose pages may call the endpoint. A program sends no `Origin`. */
  readonly allowedOrigins?: readonly string[];
  /** Refuses a `Host` that is no name of this machine, and allows pages of this machine. */
  readonly loopbackHostsOnly?: boolean;
}

/** The header fields of a request. Throws for too many, too large and repeated ones. */
export function receiveHeaders(request: RawRequest, options: ReceiveOptions): Headers {
  refuseFaultyFraming(request);
  checkHeaderLimits(request.rawHeaders, options.headerLimits ?? headerLimits);
  // The protocol refuses a repeated mirrored field later, so that the refusal has the id of the request.
  return readHeaders(withoutMirrorFields(request.rawHeaders), options.headerLimits, options.singleHeaders);
}

/** Further checks of the headers of a message, in the order of the revision. */
export function judgeHeaders(headers: Headers, options: ReceiveOptions): void {
  refuseForeignPages(headers, options);
  requireJson(headers);
}

function withoutMirrorFields(rawHeaders: readonly string[]): string[] {
  return rawHeaders.filter((_, at) => !(rawHeaders[at - (at % 2)] ?? '').toLowerCase().startsWith('mcp-'));
}

/** Refuses pages of other sites, also if the site's own host name resolves to this machine (DNS rebinding). */
function refuseForeignPages(
  headers: Headers,
  { allowedOrigins = [], loopbackHostsOnly = false }: ReceiveOptions,
): void {
  const host = headers.get('host');
  if (loopbackHostsOnly && host !== undefined && !isLoopbackHost(host)) throw foreign();
  const origin = headers.get('origin');
  if (origin === undefined || allowedOrigins.includes(origin)) return;
  const [, page = ''] = /^https?:\/\/([^/]*)$/.exec(origin) ?? [];
  if (!(loopbackHostsOnly && isLoopbackHost(page))) throw foreign();
}

function foreign(): ServiceError {
  return new ServiceError('permission_denied', 'A page of this origin may not call the endpoint.');
}

export function correlationOf({ rawHeaders }: RawRequest): string | undefined {
  return fieldOf(rawHeaders, correlationHeader);
}

/** The first field of the name. */
export function fieldOf(rawHeaders: readonly string[], wanted: string): string | undefined {
  const at = rawHeaders.findIndex(
    (name, index) => index % 2 === 0 && name.toLowerCase() === wanted.toLowerCase(),
  );
  return at < 0 ? undefined : rawHeaders[at + 1];
}
