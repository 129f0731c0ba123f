import type { OperationEntry } from '../../contracts/operation.ts';
import type { Identity } from '../../functions/compose/identity.ts';
import { machine } from '../../functions/compose/machine.ts';
import { createChain, type HandlerMap } from '../../functions/http/chain.ts';
import { inject } from '../../functions/http/host-inject.ts';
import { anonymous, createAuthenticator } from '../../functions/identity/authenticator.ts';
import { type ClassPolicy, createAuthorizer } from '../../functions/identity/authorizer.ts';
import { permissionDenied } from '../../functions/identity/grants.ts';
import { ServiceError } from '../../functions/kernel/errors.ts';
import { type Grant, type IssuedService, serviceAudience } from '../support/issued-service.ts';
import { type CallerKind, type Credential, callerKinds, type MatrixSubject } from './matrix.ts';
import { executionGrantSettings, own } from './matrix-execution.ts';
import { recordGrantSettings } from './matrix-records.ts';

/** The credentials of the matrix's callers, for the service as it is deployed and for one that is made up. */

const nowSeconds = () => Math.floor(Date.now() / 1000);
export const apiKey = 'an-api-key-of-the-matrix';

/** Each kind of caller is a principal of its own, granted what the kind says. */
export const grants: readonly Grant[] = callerKinds.flatMap((kind) =>
  kind.grants.map((grant) => ({ principal: principalOf(kind), ...grant })),
);

/** The same of the execution runtime, with the handlers that they are about. */
export const executionSettings: Readonly<Record<string, string>> = {
  ...executionGrantSettings(
    callerKinds.flatMap((kind) => (kind.runs ?? []).map((grant) => [principalOf(kind), grant] as const)),
    serviceAudience,
  ),
  ...recordGrantSettings(
    callerKinds.flatMap((kind) => (kind.records ?? []).map((grant) => [principalOf(kind), grant] as const)),
    serviceAudience,
  ),
  ...recordGrantSettings(
    callerKinds.flatMap((kind) => (kind.providers ?? []).map((grant) => [principalOf(kind), grant] as const)),
    serviceAudience,
    'Server:ProviderAccess',
  ),
  'ExecutionRuntime:ExternalHandlers:0:HandlerId': own.handler,
  'ExecutionRuntime:ExternalHandlers:1:HandlerId': 'matrix.other',
};

export function principalOf({ name }: CallerKind): string {
  return `${name.replaceAll(/[^a-z]+/gi, '-').toLowerCase()}@project.example`;
}

export interface Presentation {
  /** The header that carries a token. */
  readonly header: string;
  /** The headers that every caller with a token sends in addition. */
  readonly beside: Readonly<Record<string, string>>;
}

/** The headers that each kind of caller sends to a service that believes this issuer. */
export function headersFrom({ issuer }: Pick<IssuedService, 'issuer'>, { header, beside }: Presentation) {
  const token = (kind: CallerKind, claims: { audience?: string; issuedAtSeconds?: number } = {}) =>
    issuer.mint({ email: principalOf(kind), audience: serviceAudience, ...claims });
  const forged = (text: string) => `${text.slice(0, -6)}${text.endsWith('AAAAAA') ? 'BBBBBB' : 'AAAAAA'}`;
  const bearer = (text: string) => ({ ...beside, [header]: `Bearer ${text}` });
  const presents: Record<Credential, (kind: CallerKind) => Promise<Record<string, string>>> = {
    none: async () => ({}),
    'unknown API key alone': async () => ({ 'X-Svc-Api-Key': 'unknown' }),
    'known API key alone': async () => ({ 'X-Svc-Api-Key': apiKey }),
    'development header': async (kind) => ({ 'X-Svc-Development-Identity': principalOf(kind) }),
    'proxy headers': async (kind) => ({
      'X-Forwarded-User': principalOf(kind),
      'X-Forwarded-Email': principalOf(kind),
      'X-Goog-Authenticated-User-Email': `accounts.google.com:${principalOf(kind)}`,
      'X-Goog-IAP-JWT-Assertion': await token(kind),
      'X-Apigateway-Api-Userinfo': Buffer.from(JSON.stringify({ email: principalOf(kind) })).toString(
        'base64url',
      ),
    }),
    expired: async (kind) => bearer(await token(kind, { issuedAtSeconds: nowSeconds() - 7_200 })),
    'wrong audience': async (kind) => bearer(await token(kind, { audience: `${serviceAudience}.evil` })),
    forged: async (kind) => bearer(forged(await token(kind))),
    token: async (kind) => bearer(await token(kind)),
    'token of a stranger': async (kind) => bearer(await token(kind)),
  };
  return (kind: CallerKind) => presents[kind.credential](kind);
}

/** Operations that do nothing, behind the real chain and authorization. */
export function serveNothing(
  entries: readonly OperationEntry[],
  identity: Identity,
): Pick<MatrixSubject, 'entries' | 'call'> {
  const done = ({ responses: [response] }: OperationEntry) => ({
    status: response?.status ?? 200,
    body: response?.mediaType === null ? null : {},
  });
  const takesAnything = Object.assign(() => true) as unknown as (value: unknown) => value is unknown;
  const chain = createChain({
    operations: Object.fromEntries(entries.map((entry) => [entry.id, entry])),
    handlers: Object.fromEntries(entries.map((entry) => [entry.id, async () => done(entry)])) as HandlerMap,
    validators: Object.fromEntries(
      entries.map(({ group }) => [
        group,
        async () => ({
          requestValidators: Object.fromEntries(entries.map(({ id }) => [id, takesAnything])),
          responseValidators: {},
        }),
      ]),
    ),
    world: machine,
    ...identity,
    log: () => {},
    rateLimit: null,
  });
  return { entries, call: (request) => inject(chain, request) };
}

/** Callers who say in a header of what kind they are, and a policy of the test's own that lets some of them in. */
export function pretended(
  entries: readonly OperationEntry[],
  lets: (kind: CallerKind, entry: OperationEntry) => boolean | 'hidden',
): MatrixSubject {
  const classes = [...new Set(entries.map(({ authorizationClass }) => authorizationClass))];
  const ofEach = <T>(part: T) => Object.fromEntries(classes.map((name) => [name, part]));

  const kindNamed = (name: string | undefined) => {
    const found = callerKinds.find((kind) => kind.name === name);
    if (found === undefined) throw new Error(`there is no caller ${name}`);
    return found;
  };
  const authenticate: Identity['authenticator']['authenticate'] = (headers, operation) => {
    const { name, credential } = kindNamed(headers.get('x-kind'));
    const holds = credential === 'token' || credential === 'token of a stranger';
    const identify = async () => (holds ? { principal: name, issuedAt: null } : null);
    const otherwise =
      credential === 'known API key alone' ? ({ kind: 'api-key', principal: null } as const) : anonymous;
    const workloads = ofEach({ identify });
    return createAuthenticator({ apiKeyRequired: false, workloads, otherwise }).authenticate(
      headers,
      operation,
    );
  };
  const authorizer = createAuthorizer({
    policies: ofEach<ClassPolicy>(({ principal }, { id }) => {
      const entry = entries.find((each) => each.id === id);
      const answer = entry !== undefined && lets(kindNamed(principal), entry);
      if (answer === 'hidden') throw new ServiceError('not_found', 'There is none.');
      if (!answer) throw permissionDenied();
    }),
  });
  return {
    ...serveNothing(entries, { authenticator: { authenticate }, authorizer }),
    headersOf: async ({ name }) => ({ 'X-Kind': name }),
  };
}
