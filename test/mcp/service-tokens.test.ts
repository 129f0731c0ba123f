import { afterAll, beforeAll, expect, test } from 'vitest';
import { type IssuedService, serviceAudience, startIssuedService } from '../support/issued-service.ts';
import { bodyOf, fieldsOf, messagesOf } from './support.ts';

/** Verified tokens at the endpoint of a service that tells clients its issuer and scopes. */

let service: IssuedService;

const READER = 'reader@local.example';
/** Verified, and named by no policy. */
const STRANGER = 'stranger@local.example';

beforeAll(async () => {
  service = await startIssuedService([{ principal: READER, tenants: ['acme'], operations: ['read'] }], {
    'Mcp:Enabled': 'true',
    'Mcp:ProtectedResource:Resource': 'https://api.example.com/mcp',
    'Mcp:ProtectedResource:AuthorizationServers:0': 'https://issuer.example.com',
    'Mcp:ProtectedResource:ScopesSupported:0': 'records.read',
    'Server:RecordAccess:AllowedAudiences:0': serviceAudience,
    'Server:RecordAccess:IdentityPolicies:0:Principal': READER,
    'Server:RecordAccess:IdentityPolicies:0:Space': 'acme',
    'Server:RecordAccess:IdentityPolicies:0:AllowedOperations:0': 'read',
  });
});

afterAll(() => service.close());

async function ask(email: string, method: string, params = {}, audience = serviceAudience) {
  const token = await service.issuer.mint({ email, audience });
  const response = await service.call({
    method: 'POST',
    path: '/mcp',
    body: bodyOf(method, params),
    headers: { ...fieldsOf(method, params), Authorization: `Bearer ${token}` },
  });
  const challenge = response.headers['www-authenticate'];
  return { status: response.status, challenge, body: response.body, message: messagesOf(response)[0] ?? {} };
}

const toolsOf = ({ message }: Awaited<ReturnType<typeof ask>>) =>
  (message['result'] as { tools: { name: string }[] }).tools.map(({ name }) => name);

test('a verified token without any right reaches the endpoint, and is shown nothing: no scope would change that', async () => {
  const name = 'svc_collections_list_v1';
  const reader = await ask(READER, 'tools/list');
  expect([reader.status, reader.challenge]).toEqual([200, undefined]);
  expect(toolsOf(reader)).toContain(name);
  const stranger = await ask(STRANGER, 'tools/list');
  expect([stranger.status, stranger.challenge, toolsOf(stranger)]).toEqual([200, undefined, []]);
  const called = await ask(STRANGER, 'tools/call', { name, arguments: {} });
  expect([called.status, called.challenge]).toEqual([200, undefined]);
  expect(called.message).toMatchObject({ error: { code: -32602 } });
  // A tool that is hidden is answered like one that does not exist.
  const unknown = await ask(STRANGER, 'tools/call', { name: 'svc_collections_none_v1', arguments: {} });
  expect(called.message).toEqual(unknown.message);
});

test('a token for another audience is none: it is refused with 401, and never with insufficient_scope', async () => {
  const foreign = await ask(READER, 'tools/list', {}, 'https://other.example');
  expect(foreign.status).toBe(401);
  expect(foreign.challenge).toContain('resource_metadata="https://api.example.com/.well-known/');
  expect(foreign.challenge).not.toContain('insufficient_scope');
});
