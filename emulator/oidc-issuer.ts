import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, isIP } from 'node:net';
import { drainedBody } from './drained-body.ts';
import { type MintClaims, type SigningKeys, signingKeys } from './oidc-keys.ts';
import { readTokenRequest } from './oidc-token-request.ts';

/**
 * An OpenID Connect issuer for one machine. It signs any requested claims, so every caller can take any identity. It
 * therefore listens on loopback only, accepts loopback host names only (against DNS rebinding by web pages), and
 * drops its keys when it stops. Only a service on the same machine may trust it.
 */
export interface OidcIssuer {
  /** The `iss` of its tokens, and its address. */
  readonly issuer: string;
  readonly keySetUrl: string;
  mint(claims: MintClaims): Promise<string>;
  /** Signs with a new key from now on. Earlier keys stay published. */
  rotate(): Promise<void>;
  stop(): Promise<void>;
}

export interface OidcIssuerOptions {
  /** 0, the default, takes a free port. */
  readonly port?: number;
  /** A loopback address; default 127.0.0.1. */
  readonly host?: string;
}

const bodyBytesMax = 16 * 1024;

/** Throws an Error for a host that other machines could reach, and for a port in use. */
export async function startOidcIssuer({
  port = 0,
  host = '127.0.0.1',
}: OidcIssuerOptions = {}): Promise<OidcIssuer> {
  if (!isLoopback(host)) throw new Error(`The issuer serves loopback only, and ${host} is not of it.`);
  const keys = await signingKeys();
  const server = createServer({ requestTimeout: 10_000, headersTimeout: 5000 });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  const issuer = urlOf(server.address() as AddressInfo);
  server.on('request', (request, response) => {
    answer(request, issuer, keys).then(
      (reply) => send(response, reply),
      () => send(response, failure(500, 'server_error', 'The issuer failed.')),
    );
  });
  return {
    issuer,
    keySetUrl: `${issuer}/keys`,
    mint: (claims) => Promise.resolve(keys.mint(issuer, claims)),
    rotate: () => keys.rotate(),
    async stop() {
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}

interface Reply {
  readonly status: number;
  readonly body: unknown;
  readonly fields?: Readonly<Record<string, string>>;
}

async function answer(request: IncomingMessage, issuer: string, keys: SigningKeys): Promise<Reply> {
  if (!isLoopback(hostOf(request.headers.host)))
    return failure(403, 'invalid_request', 'The Host field does not name this machine as loopback.');
  const [path = ''] = (request.url ?? '').split('?');
  if (path === '/token') {
    return request.method === 'POST' ? answerToken(request, issuer, keys) : wrongMethod('POST');
  }
  const document = documentAt(path, issuer, keys);
  if (document === undefined) return failure(404, 'not_found', 'There is nothing at this path.');
  if (request.method !== 'GET') return wrongMethod('GET');
  return { status: 200, body: document, fields: { 'cache-control': 'public, max-age=300' } };
}

function documentAt(path: string, issuer: string, keys: SigningKeys): unknown {
  if (path === '/keys') return { keys: keys.published() };
  if (path !== '/.well-known/openid-configuration') return undefined;
  // OpenID Connect Discovery 1.0, section 3.
  return {
    issuer,
    jwks_uri: `${issuer}/keys`,
    token_endpoint: `${issuer}/token`,
    response_types_supported: ['id_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256'],
    claims_supported: ['iss', 'sub', 'aud', 'iat', 'exp', 'email', 'email_verified'],
  };
}

async function answerToken(request: IncomingMessage, issuer: string, keys: SigningKeys): Promise<Reply> {
  // Browsers send this type to another origin only after a preflight request, and this server allows none.
  if (!/^application\/json *(;|$)/i.test(request.headers['content-type'] ?? ''))
    return failure(400, 'invalid_request', 'The body must have the content type application/json.');
  const body = await drainedBody(request, bodyBytesMax);
  if (body === null) return failure(400, 'invalid_request', `The body is over ${bodyBytesMax} bytes.`);
  const claims = readTokenRequest(body);
  if (typeof claims === 'string') return failure(400, 'invalid_request', claims);
  const token = keys.mint(issuer, claims);
  return {
    status: 200,
    body: { id_token: token, token_type: 'Bearer', expires_in: claims.expiresInSeconds },
    fields: { 'cache-control': 'no-store' },
  };
}

function wrongMethod(allow: string): Reply {
  const { status, body } = failure(405, 'invalid_request', `This path answers ${allow} only.`);
  return { status, body, fields: { allow } };
}

/** The error form of RFC 6749 section 5.2. */
function failure(status: number, error: string, description: string): Reply {
  return { status, body: { error, error_description: description } };
}

function send(response: ServerResponse, { status, body, fields = {} }: Reply): void {
  // The rest of an unread body would be parsed as the next request.
  const ending = response.req.complete ? {} : { connection: 'close' };
  response.writeHead(status, { 'content-type': 'application/json', ...fields, ...ending });
  response.end(`${JSON.stringify(body)}\n`);
}

function isLoopback(host: string): boolean {
  if (host === 'localhost' || host === '::1') return true;
  return isIP(host) === 4 && host.startsWith('127.');
}

/** The host of a Host field, without its port and the brackets of IPv6. */
function hostOf(field: string | undefined): string {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\]|([^:[\]]*))(?::[0-9]{1,5})?$/.exec(field ?? '') ?? [];
  return (bracketed ?? plain ?? '').toLowerCase();
}

function urlOf({ address, family, port }: AddressInfo): string {
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}
