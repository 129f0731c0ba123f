import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'mysql2/promise';
import { ConnectionStringError, type StoreError } from '../port.ts';

const forms = 'mysql://user:password@host:port/database';

/** Whether the server's certificate is held to a known authority, and to the name of the host. */
const tlsModes: Readonly<Record<string, { readonly chain: boolean; readonly name: boolean } | undefined>> = {
  disable: undefined,
  'no-verify': { chain: false, name: false },
  'verify-ca': { chain: true, name: false },
  'verify-full': { chain: true, name: true },
};

/**
 * Reads `mysql://user:password@host:port/database`, also `mariadb://`. Parameters:
 *
 * - `socketPath=/run/mysqld/mysqld.sock`: a Unix socket instead of host and port.
 * - `ssl=true`, or `sslmode=require|verify-full`: TLS, with the server's certificate verified for the host's name (which
 *   must then be a name, not an address). `sslmode=verify-ca` leaves the name out, `sslmode=no-verify` checks nothing.
 *   `ssl=false` and `sslmode=disable`, the default: no TLS.
 * - `sslca=/path/to/ca.pem`: the authorities to believe instead of those that Node comes with.
 *
 * No message repeats any part of the text.
 */
export function addressOf(connectionString: string): ConnectionOptions {
  const url = URL.parse(connectionString);
  if (url === null || !/^(mysql|mariadb):$/.test(url.protocol)) {
    throw refused(`must be a URL such as ${forms}`);
  }
  const database = decoded(url.pathname.slice(1));
  if (database === '' || database.includes('/')) throw refused(`must name the database, as in ${forms}`);
  const { socketPath, ssl } = parametersOf(url.searchParams);
  if (socketPath === undefined && url.hostname === '') throw refused('must name a host or a socketPath');
  return {
    ...(socketPath === undefined
      ? { host: url.hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(url.port || 3306) }
      : { socketPath }),
    user: decoded(url.username),
    password: decoded(url.password),
    database,
    ...(ssl === undefined ? {} : { ssl }),
  };
}

function parametersOf(parameters: URLSearchParams) {
  let socketPath: string | undefined;
  let mode = 'disable';
  let authorities: string | undefined;
  for (const [name, value] of parameters) {
    if (name === 'socketPath' && value !== '') socketPath = value;
    else if (name === 'ssl' && value === 'true') mode = 'verify-full';
    else if (name === 'ssl' && value === 'false') mode = 'disable';
    else if (name === 'sslmode' && value === 'require') mode = 'verify-full';
    else if (name === 'sslmode' && Object.hasOwn(tlsModes, value)) mode = value;
    else if (name === 'sslca' && value !== '') authorities = value;
    else
      throw refused('knows the parameters socketPath, ssl, sslmode and sslca, with the values of the manual');
  }
  const tls = tlsModes[mode];
  if (tls === undefined) {
    // An operator who names certificate authorities expects TLS, so the connection must not stay unencrypted.
    if (authorities !== undefined) throw refused('names sslca without ssl=true or an sslmode');
    return { socketPath, ssl: undefined };
  }
  const ca = authorities === undefined ? {} : { ca: readAuthorities(authorities) };
  return {
    socketPath,
    ssl: { minVersion: 'TLSv1.2', rejectUnauthorized: tls.chain, verifyIdentity: tls.name, ...ca },
  };
}

function readAuthorities(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    throw refused('names an sslca that cannot be read');
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw refused('holds a % that begins no escape: write %25');
  }
}

function refused(why: string): StoreError {
  return new ConnectionStringError(`MySQL: the connection string ${why}`);
}
