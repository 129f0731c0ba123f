import { createHash, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { OidcIssuer } from '../../emulator/oidc-issuer.ts';

/**
 * An authorization server in front of an issuer of the local cloud: registration, code with PKCE, and tokens for the resource that
 * the client names (RFC 8414, 7591, 7636, 8707). Its person always agrees.
 */
export interface AuthorizationServer {
  readonly address: string;
  /** The resource of each token request. */
  readonly resources: readonly string[];
  close(): Promise<void>;
}

interface Grant {
  readonly challenge: string;
  readonly resource: string;
  readonly redirect: string;
}

export async function startAuthorizationServer(
  issuer: OidcIssuer,
  email: string,
): Promise<AuthorizationServer> {
  const grants = new Map<string, Grant>();
  const resources: string[] = [];
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', address);
    const route = routes[`${request.method} ${url.pathname}`];
    if (route === undefined) json(response, 404, {});
    else void route(url.searchParams, request, response);
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  type Route = (
    query: URLSearchParams,
    request: IncomingMessage,
    response: ServerResponse,
  ) => void | Promise<void>;
  const routes: Readonly<Record<string, Route>> = {
    'GET /.well-known/oauth-authorization-server': (_query, _request, response) =>
      json(response, 200, metadataOf(address)),
    'POST /register': async (_query, request, response) => {
      const asked = JSON.parse(await textOf(request)) as object;
      json(response, 201, { ...asked, client_id: 'desktop' });
    },
    'GET /authorize': (query, _request, response) => {
      const code = randomUUID();
      const redirect = query.get('redirect_uri') ?? '';
      grants.set(code, {
        challenge: query.get('code_challenge') ?? '',
        resource: query.get('resource') ?? '',
        redirect,
      });
      const target = new URL(redirect);
      target.searchParams.set('code', code);
      response.writeHead(302, { Location: target.href }).end();
    },
    'POST /token': async (_query, request, response) => {
      const form = new URLSearchParams(await textOf(request));
      const grant = grants.get(form.get('code') ?? '');
      const resource = form.get('resource') ?? '';
      grants.delete(form.get('code') ?? '');
      const challenge = createHash('sha256')
        .update(form.get('code_verifier') ?? '')
        .digest('base64url');
      const isSame = grant?.resource === resource && grant.redirect === form.get('redirect_uri');
      if (grant?.challenge !== challenge || !isSame) return json(response, 400, { error: 'invalid_grant' });
      resources.push(resource);
      const token = await issuer.mint({ email, audience: resource });
      json(response, 200, { access_token: token, token_type: 'Bearer', expires_in: 3600 });
    },
  };
  return {
    address,
    resources,
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}

function metadataOf(address: string): object {
  return {
    issuer: address,
    authorization_endpoint: `${address}/authorize`,
    token_endpoint: `${address}/token`,
    registration_endpoint: `${address}/register`,
    response_types_supported: ['code'],
    grant_types_supported: ['authorization_code'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['none'],
  };
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

function json(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
}
