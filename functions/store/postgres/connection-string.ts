import { userInfo } from 'node:os';
import { ConnectionStringError, type StoreError } from '../port.ts';

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
 * Builds the driver's connection string: a URL with a definite TLS mode.
 *
 * The driver, unlike libpq, uses no TLS without `sslmode`, and treats `prefer`, `require` and `verify-ca` as
 * `verify-full` while it warns that this will change. Here a database on another machine is verified (`verify-full`:
 * the certificate's chain and the host's name) unless the string has `sslmode=disable`, or `sslmode=no-verify` for TLS
 * without a check. `prefer`, `require` and `verify-ca` always mean `verify-full`, or with `uselibpqcompat=true` their
 * meaning in libpq. A connection by a Unix socket or to this machine has no TLS unless the string requests it.
 *
 * The driver would fill omitted parts from the environment (`PGHOST`, `PGPORT`, `PGSSLMODE` …). The result therefore
 * names host, user and TLS mode in full, so that the environment decides none of them.
 */
export function driverUrl(connectionString: string): string {
  const url = /^postgres(ql)?:\/\//i.test(connectionString)
    ? parseUrl(connectionString)
    : urlOfKeywords(connectionString);
  const { searchParams: parameters } = url;
  // The driver uses the last of them, so this check must judge the same one.
  if (new Set(parameters.keys()).size !== parameters.size) throw refused('it gives a parameter twice');
  const host = parameters.get('host') || decoded(url.hostname);
  if (host === '') throw refused('it names neither a host nor, as host=/…, the folder of a Unix socket');
  parameters.set('sslmode', modeOf(parameters, host));
  parameters.delete('ssl');
  if (!parameters.get('sslnegotiation')) parameters.set('sslnegotiation', 'postgres');
  if (!parameters.get('port')) parameters.set('port', url.port || '5432');
  const user = parameters.get('user') || decoded(url.username) || userOfMachine();
  parameters.set('user', user);
  if (url.pathname === '' || url.pathname === '/') url.pathname = `/${encodeURI(user)}`;
  return url.href;
}

const modes = new Set(['disable', 'no-verify', 'verify-full']);
const laxModes = new Set(['prefer', 'require', 'verify-ca']);
/** The driver's own word for it, in its values. */
const sslMeans: Readonly<Record<string, string>> = {
  true: 'verify-full',
  '1': 'verify-full',
  'no-verify': 'no-verify',
  false: 'disable',
  '0': 'disable',
};

function modeOf(parameters: URLSearchParams, host: string): string {
  const mode = parameters.get('sslmode');
  if (mode !== null) {
    if (modes.has(mode)) return mode;
    if (!laxModes.has(mode)) {
      throw refused('its sslmode is none of disable, no-verify, prefer, require, verify-ca and verify-full');
    }
    return parameters.get('uselibpqcompat') === 'true' ? mode : 'verify-full';
  }
  const ssl = parameters.get('ssl');
  if (ssl !== null) {
    const meant = Object.hasOwn(sslMeans, ssl) ? sslMeans[ssl] : undefined;
    if (meant === undefined) throw refused('its ssl is none of true, false and no-verify');
    return meant;
  }
  const asked =
    parameters.get('sslnegotiation') === 'direct' ||
    ['sslrootcert', 'sslcert', 'sslkey'].some((name) => parameters.get(name));
  return asked || isRemote(host) ? 'verify-full' : 'disable';
}

function parseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined) throw refused('it is no URL');
  return url;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw refused('it holds a % that begins no escape: write %25');
  }
}

/** As libpq has it. A container may run as a number that has no name. */
function userOfMachine(): string {
  try {
    return userInfo().username;
  } catch {
    throw refused('it names no user');
  }
}

function isRemote(host: string): boolean {
  const local = host.startsWith('/') || host === 'localhost' || host === '::1' || host === '[::1]';
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
    if (!keywords.has(word)) throw refused('it has an unknown word');
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
  return new ConnectionStringError(`the connection string of PostgreSQL is not understood: ${why}`);
}
