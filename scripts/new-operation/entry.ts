import { pathNames } from '../../contracts/generate/catalog.ts';
import { JOB_PROBLEMS, jobEntryParts } from './job.ts';
import { sentence, snake, subjectOf } from './names.ts';
import type { NewOperation } from './request.ts';
import { unfinished } from './unfinished.ts';

/** The models of an operation by their names; `null` where it takes no body. */
export function modelNames({ id, job, mutation, method }: NewOperation) {
  const subject = subjectOf(id);
  const takesBody = method !== 'GET' && method !== 'DELETE';
  const answer = job === null ? subject : 'AdmissionReceipt';
  const verb = id.slice(0, id.length - subject.length);
  const isRead = mutation === 'read';
  return {
    request: takesBody ? `${subject}${isRead ? 'Query' : 'Request'}` : null,
    answer:
      isRead || job !== null ? answer : `${subject}${verb.charAt(0).toUpperCase()}${verb.slice(1)}Result`,
  };
}

/** The catalog entry; every sentence that only the contributor can write is marked as unfinished. */
export function catalogEntry(operation: NewOperation, problemOrder: readonly string[]): object {
  const { id, group, method, path, stability, authorizationClass, access, mutation, job } = operation;
  const { request, answer } = modelNames(operation);
  const ofJob = job === null ? null : jobEntryParts(operation);
  return {
    id,
    summary: sentence(id),
    description: unfinished('say in one or two sentences what the operation does and answers'),
    routes: [{ operationId: id, method, path }],
    parameters: [...pathNames(path).map(parameter), ...(ofJob?.parameters ?? [])],
    stability,
    authorizationClass,
    accessOperation: access,
    mutation,
    completion: mutation === 'read' ? 'non-mutating' : job === null ? 'atomic' : 'receipt-bound',
    idempotency: ofJob?.idempotency ?? {
      requirement: mutation === 'read' ? 'not-applicable' : 'unsupported',
      location: null,
    },
    sdk: { python: snake(id), typescript: id },
    request:
      request === null ? null : { schema: request, mediaType: 'application/json', bodyLimitBytes: 65_536 },
    responses: [
      {
        status: job === null ? 200 : 202,
        mediaType: 'application/json',
        schema: answer,
        description: unfinished('say what the answer holds'),
        ...(ofJob === null ? {} : { headers: ofJob.headers }),
      },
    ],
    problems: problemOrder.filter((code) => problemsOf(operation).has(code)),
    mcp: { exposure: 'none', name: null, uri: null, defaultEnabled: false },
    headerSafeFields: [],
    evidence: {
      fixtures: ['sdk/wire/requests.json'],
      tests: [...EVIDENCE, conformancePath(group, id)],
    },
    deprecation: null,
  };
}

/** Tests that read the catalogue, so they cover a new operation too. */
const EVIDENCE = [
  'contracts/parity.test.ts',
  'contracts/validators.test.ts',
  'sdk/typescript/test/wire.test.ts',
  'sdk/python/tests/test_wire.py',
  'test/system/sdk-scenario.test.ts',
  'test/system/two-instances-scenario.test.ts',
];

export function conformancePath(group: string, id: string): string {
  return `test/conformance/${group}-${snake(id).replaceAll('_', '-')}.ts`;
}

/** The parameters that refuse `/ \ % ? #`; every other one is free text. */
const STRICT: ReadonlySet<string> = new Set(['tenantId', 'eventId']);

function parameter(name: string): object {
  const tenant =
    'The tenant: one path segment without slash, backslash, percent sign, question mark or number sign.';
  return {
    in: 'path',
    name,
    required: true,
    ...(STRICT.has(name) ? { strict: true } : {}),
    schema: { type: 'string', minLength: 1, maxLength: 160 },
    description: name === 'tenantId' ? tenant : unfinished(`say what ${name} names`),
  };
}

function problemsOf(operation: NewOperation): ReadonlySet<string> {
  const { path, method, authorizationClass, mutation, job } = operation;
  const names = pathNames(path);
  const codes = [
    'malformed_request',
    'validation_failed',
    'method_not_allowed',
    'request_timeout',
    'unsupported_media_type',
    'headers_too_large',
    'internal_error',
    'unavailable',
  ];
  if (names.includes('tenantId') || names.includes('eventId')) codes.push('invalid_path_segment');
  if (names.length > 0) codes.push('limit_exceeded');
  if (names.some((name) => name !== 'tenantId')) codes.push('not_found');
  if (authorizationClass !== 'anonymous')
    codes.push('unauthenticated', 'permission_denied', 'rate_limited', 'store_contention');
  if (method !== 'GET' && method !== 'DELETE') codes.push('payload_too_large');
  if (mutation !== 'read') codes.push('storage_full');
  if (job !== null) codes.push('limit_exceeded', ...JOB_PROBLEMS);
  return new Set(codes);
}
