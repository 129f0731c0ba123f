import {
  Client,
  type FetchLike,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  type StoredOAuthClientInformation,
  type StoredOAuthTokens,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startOidcIssuer } from '../../emulator/oidc-issuer.ts';
import { type AuthorizationServer, startAuthorizationServer } from '../support/authorization-server.ts';
import { type RunningService, startService } from '../support/service.ts';
import { bodyOf, fieldsOf } from './support.ts';

/** The OAuth flow of the official client to its end, with tokens of an issuer of the local cloud. */

const RESOURCE = 'https://api.example.com/mcp';
const READER = 'reader@local.example';
const CALLBACK = 'http://localhost:33418/callback';

let issuer: Awaited<ReturnType<typeof startOidcIssuer>>;
let authorization: AuthorizationServer;

beforeAll(async () => {
  issuer = await startOidcIssuer();
  authorization = await startAuthorizationServer(issuer, READER);
});

afterAll(async () => {
  await authorization.close();
  await issuer.stop();
});

function started(more: Readonly<Record<string, string>>): Promise<RunningService> {
  return startService({
    settings: {
      Environment: 'Production',
      'Mcp:Enabled': 'true',
      'CanonicalStore:Enabled': 'false',
      'Server:Oidc:Issuers:0': issuer.issuer,
      'Server:Oidc:KeySetUrl': issuer.keySetUrl,
      'Server:RecordAccess:AllowedAudiences:0': RESOURCE,
      'Server:RecordAccess:IdentityPolicies:0:Principal': READER,
      'Server:RecordAccess:IdentityPolicies:0:Space': 'acme',
      'Server:RecordAccess:IdentityPolicies:0:AllowedOperations:0': 'read',
      ...more,
    },
  });
}

/** Requests to the public address reach the service, all others the network of this machine. */
function fetchOf(service: RunningService): FetchLike {
  return async (given, init) => {
    const url = new URL(given);
    if (url.origin !== new URL(RESOURCE).origin) return fetch(url, init);
    const { status, headers, body } = await service.call({
      method: init?.method ?? 'GET',
      path: `${url.pathname}${url.search}`,
      headers: Object.fromEntries(new Headers(init?.headers)),
      ...(typeof init?.body === 'string' ? { body: Buffer.from(init.body) } : {}),
    });
    return new Response(status === 204 ? null : body, { status, headers });
  };
}

class Person implements OAuthClientProvider {
  readonly redirectUrl = CALLBACK;
  readonly clientMetadata = {
    client_name: 'desktop',
    redirect_uris: [CALLBACK],
    grant_types: ['authorization_code'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  };
  page: URL | undefined;
  #client: StoredOAuthClientInformation | undefined;
  #tokens: StoredOAuthTokens | undefined;
  #verifier = '';
  #discovered: OAuthDiscoveryState | undefined;
  clientInformation = () => this.#client;
  saveClientInformation = (client: StoredOAuthClientInformation) => {
    this.#client = client;
  };
  tokens = () => this.#tokens;
  saveTokens = (tokens: StoredOAuthTokens) => {
    this.#tokens = tokens;
  };
  redirectToAuthorization = (page: URL) => {
    this.page = page;
  };
  codeVerifier = () => this.#verifier;
  saveCodeVerifier = (verifier: string) => {
    this.#verifier = verifier;
  };
  discoveryState = () => this.#discovered;
  saveDiscoveryState = (state: OAuthDiscoveryState) => {
    this.#discovered = state;
  };
}

test.each<[mode: string, options: ConstructorParameters<typeof Client>[1]]>([
  ['pinned to the newest revision', { versionNegotiation: { mode: { pin: '2026-07-28' } } }],
  ['as it is, in an older revision', {}],
])(
  'a client %s that knows the address alone finds the issuer, gets a token for the resource and calls',
  async (_, options) => {
    const service = await started({
      'Mcp:ProtectedResource:Resource': RESOURCE,
      'Mcp:ProtectedResource:AuthorizationServers:0': authorization.address,
    });
    const person = new Person();
    const transportOf = () =>
      new StreamableHTTPClientTransport(new URL(RESOURCE), { authProvider: person, fetch: fetchOf(service) });
    const attempt = async (transport: StreamableHTTPClientTransport) => {
      const client = new Client({ name: 'desktop', version: '1.0.0' }, options);
      await client.connect(transport);
      const { tools } = await client.listTools();
      const answer = await client.callTool({ name: 'svc_collections_list_v1', arguments: {} });
      await client.close();
      return { names: tools.map(({ name }) => name), isError: answer.isError === true };
    };

    const asked = authorization.resources.length;
    const first = transportOf();
    await expect(attempt(first)).rejects.toBeInstanceOf(UnauthorizedError);
    expect(person.page?.searchParams.get('resource')).toBe(RESOURCE);
    const back = await fetch(person.page ?? '', { redirect: 'manual' });
    await first.finishAuth(new URL(back.headers.get('location') ?? '').searchParams);
    expect(authorization.resources.slice(asked)).toEqual([RESOURCE]);

    const { names, isError } = await attempt(transportOf());
    expect(names).toContain('svc_collections_list_v1');
    expect(isError).toBe(false);
    await service.close();
  },
);

test('with API keys the challenge is bare, no metadata is served, and a lone token is read as a key', async () => {
  const key = 'a-key-of-the-gateway';
  const service = await started({ 'Server:ApiKeys:0': key });
  const token = await issuer.mint({ email: READER, audience: RESOURCE });
  const send = async (headers: Readonly<Record<string, string>>) => {
    const sent = { ...fieldsOf('tools/list'), ...headers };
    const answer = await service.call({
      method: 'POST',
      path: '/mcp',
      body: bodyOf('tools/list'),
      headers: sent,
    });
    return [answer.status, answer.headers['www-authenticate']];
  };
  expect(await send({})).toEqual([401, 'Bearer realm="svc"']);
  expect(await send({ Authorization: `Bearer ${token}` })).toEqual([401, 'Bearer realm="svc"']);
  expect(await send({ Authorization: `Bearer ${token}`, 'X-Svc-Api-Key': key })).toEqual([200, undefined]);
  const metadata = await service.call({ method: 'GET', path: '/.well-known/oauth-protected-resource/mcp' });
  expect(metadata.status).not.toBe(200);
  await service.close();
});

test.each([
  [
    'with metadata',
    'The endpoint needs a token in Authorization, and takes no API keys.',
    {
      'Mcp:ProtectedResource:Resource': RESOURCE,
      'Mcp:ProtectedResource:AuthorizationServers:0': 'https://login.example.com',
    },
  ],
  ['without metadata', 'The endpoint needs a credential.', {}],
])(
  'a service of tokens %s answers a caller with an API key as one without a credential',
  async (_, words, more) => {
    const service = await started(more);
    const answers = [{}, { 'X-Svc-Api-Key': 'a-key' }].map(async (headers) => {
      const sent = { ...fieldsOf('tools/list'), ...headers };
      const answer = await service.call({
        method: 'POST',
        path: '/mcp',
        body: bodyOf('tools/list'),
        headers: sent,
      });
      return [answer.status, answer.body.includes(words)];
    });
    expect(await Promise.all(answers)).toEqual([
      [401, true],
      [401, true],
    ]);
    await service.close();
  },
);

test('metadata beside an API key stops the start', async () => {
  const both = started({
    'Server:ApiKeys:0': 'a-key-of-the-gateway',
    'Mcp:ProtectedResource:Resource': RESOURCE,
    'Mcp:ProtectedResource:AuthorizationServers:0': authorization.address,
  });
  await expect(both).rejects.toThrow(/Mcp:ProtectedResource:Resource .*is set beside an API key/);
});
