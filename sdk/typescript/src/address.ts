import { SvcError } from './errors.ts';

/** The address of a service, as it stands before the path of every request. */
export interface Address {
  /** Without a slash at its end. */
  readonly baseUrl: string;
  /** Whether others can read the requests on their way: plain HTTP to another machine. */
  readonly isReadable: boolean;
}

const form =
  /^(https?):\/\/([a-z0-9._-]+|\[[0-9a-f:]+\])(?::([0-9]{1,5}))?(\/(?:[\w.~!$&'()*+,;=:@/-]|%[0-9a-f]{2})*)?$/i;

/**
 * Refuses every address that a platform would correct or could read in two ways, so that all SDKs take the same addresses
 * (`sdk/base-url-table.json`). The error does not quote the address: it may hold a password.
 */
export function addressOf(text: string | undefined): Address {
  if (!text) throw new SvcError('The client needs the address of a service: baseUrl, or SVC_BASE_URL.');
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text) && !/^https?:/i.test(text))
    throw new SvcError('baseUrl is neither http nor https.');
  if (/^[^/]*\/\/[^/]*@|[?#]/.test(text))
    throw new SvcError('baseUrl holds more than host, port and path. A credential has options of its own.');
  const [, scheme = '', name = '', port, prefix = ''] = form.exec(text) ?? [];
  const url = parsed(text);
  if (url === null || !holds(url, name.toLowerCase(), prefix) || Number(port) === 0)
    throw new SvcError('baseUrl is no address such as https://svc.example.com.');
  const protocol = scheme.toLowerCase();
  const isUsual = port === undefined || Number(port) === (protocol === 'https' ? 443 : 80);
  const at = `${protocol}://${name.toLowerCase()}${isUsual ? '' : `:${Number(port)}`}`;
  return {
    baseUrl: `${at}${withoutEnd(prefix)}`,
    isReadable: protocol === 'http' && !isThisMachine(url.hostname),
  };
}

function parsed(text: string): URL | null {
  return URL.canParse(text) ? new URL(text) : null;
}

/** Whether the platform reads the same host and path: it turns `127.1` into another name, and `/a/../b` into another path. */
function holds(url: URL, name: string, prefix: string): boolean {
  const isSame = name.startsWith('[') || url.hostname === name;
  return name !== '' && isSame && url.pathname === (prefix || '/');
}

function withoutEnd(prefix: string): string {
  let end = prefix.length;
  while (prefix[end - 1] === '/') end -= 1;
  return prefix.slice(0, end);
}

function isThisMachine(name: string): boolean {
  return (
    name === 'localhost' || name.endsWith('.localhost') || name === '[::1]' || /^127(\.\d+){3}$/.test(name)
  );
}
