import type { OperationEntry } from '../../../contracts/operation.ts';
import { RawBody } from '../../http/message.ts';
import type { Release } from './dependencies.ts';
import { pathOf } from './health.ts';

/** `GET /`: a greeting for people. It is served like an operation, but it is not in the contract, so no SDK has it. */
export const serverInfoOperation: OperationEntry = {
  id: 'getServerInfo',
  group: 'server',
  stability: 'internal',
  authorizationClass: 'anonymous',
  rateClass: 'public',
  accessOperation: null,
  mutation: 'read',
  completion: 'non-mutating',
  idempotency: { requirement: 'not-applicable', location: null },
  routes: [
    {
      operationId: 'getServerInfo',
      method: 'GET',
      segments: [],
      path: [],
      query: [],
      headers: [],
      bodyFromParameters: false,
      bodyMembers: [],
    },
  ],
  requestSchema: null,
  requestMediaType: null,
  bodyLimitBytes: null,
  responses: [{ status: 200, mediaType: 'text/plain; charset=utf-8', schema: null, headers: [] }],
  problems: [],
};

/** `docs`: whether the page `/docs` exists. */
export function getServerInfo(release: Release, docs: boolean) {
  const text = bannerText(release, docs);
  return async () => ({ status: 200 as const, body: new RawBody('text/plain; charset=utf-8', text) });
}

function bannerText({ service, version }: Release, docs: boolean): string {
  return [
    `${service} ${version}`,
    '',
    `health      ${pathOf('getHealth')}`,
    `readiness   ${pathOf('getReadiness')}`,
    `contract    ${pathOf('getOpenApiContract')}`,
    `schemas     ${pathOf('getPublicSchemaContract')}`,
    ...(docs ? ['docs        /docs'] : []),
    '',
  ].join('\n');
}
