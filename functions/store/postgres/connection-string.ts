import { StoreError } from '../port.ts';

/** The words of libpq's keyword form that the driver understands, by its own names for them. */
const keywords = new Set([
  'host',
  'port',
  'dbname',
  'user',
  'password',
  'sslmode',
  'sslrootcert',
  'sslcert',
  'sslkey',
  'application_name',
  'options',
]);

/**
 * The connection string as the driver wants it: a URL whose TLS is decided.
 *
 * The driver, unlike libpq, speaks in the clear when no `sslmode` is given, and takes `prefer`, `require` and
 * `verify-ca` for `verify-full` while warning that this will change. Here a database on another machine is verified
 * (`verify-full`: the certificate's chain and the host's name) unless the string says `sslmode=disable`, or
 * `sslmode=no-verify` for TLS without a check; `prefer`, `require` and `verify-ca` mean `verify-full` for good. A Unix
 * socket and this machine are spoken to in the clear unless the string asks for TLS.
 */
export function driverUrl(connectionString: string): string {
  const url = /^postgres(ql)?:\/\//i.test(connectionString)
    ? parseUrl(connectionString)
    : urlOfKeywords(connectionString);
  const mode = url.searchParams.get('sslmode');
  if (url.searchParams.get('uselibpqcompat') === 'true') return url.href;
  if (mode === null) {
    const decided = url.searchParams.has('ssl') || url.searchParams.get('sslnegotiation') === 'direct';
    if (!decided && isRemote(hostOf(url))) url.searchParams.set('sslmode', 'verify-full');
  } else if (['prefer', 'require', 'verify-ca'].includes(mode)) {
    url.searchParams.set('sslmode', 'verify-full');
  } else if (!['disable', 'no-verify', 'verify-full'].includes(mode)) {
    throw refused('its sslmode is none of disable, no-verify, prefer, require, verify-ca and verify-full');
  }
  return url.href;
}

function parseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined) throw refused('it is no URL');
  return url;
}

function hostOf(url: URL): string {
  return url.searchParams.get('host') ?? decodeURIComponent(url.hostname);
}

function isRemote(host: string): boolean {
  const local =
    host === '' || host.startsWith('/') || host === 'localhost' || host === '::1' || host === '[::1]';
  return !local && !/^127(\.\d{1,3}){3}$/.test(host);
}

const pair = /\s*([a-z_]+)\s*=\s*(?:'((?:[^'\\]|\\.)*)'|((?:[^\s'\\]|\\.)*))(?=\s|$)/gy;

/** `host=/run/postgresql dbname=svc`, with values in single quotes where they hold spaces. */
function urlOfKeywords(text: string): URL {
  const url = new URL('postgresql:///');
  let end = 0;
  for (const match of text.matchAll(pair)) {
    end = match.index + match[0].length;
    const [, word = '', quoted, bare = ''] = match;
    if (!keywords.has(word)) throw refused(`it has the unknown word ${word}`);
    const value = (quoted ?? bare).replace(/\\(.)/gs, '$1');
    if (word === 'dbname') url.pathname = `/${encodeURIComponent(value)}`;
    else url.searchParams.set(word, value);
  }
  if (end === 0 || text.slice(end).trim() !== '') {
    throw refused('it is neither a URL nor a line of keyword=value');
  }
  return url;
}

/** Never quotes the string, which may hold a password. */
function refused(why: string): StoreError {
  return new StoreError('unavailable', `the connection string of PostgreSQL is not understood: ${why}`);
}
