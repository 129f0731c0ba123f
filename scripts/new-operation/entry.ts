import { pathNames } from '../../contracts/generate/catalog.ts';
import type { EntrySource, NamedParts, ParameterSource } from '../../contracts/generate/entries/types.ts';
import { jobEntryParts } from './job.ts';
import { kebab, sentence, subjectOf } from './names.ts';
import type { NewOperation } from './request.ts';
import { unfinished } from './unfinished.ts';

/** The models of an operation by their names; `null` if it takes no body. */
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

/** Parameters that entries refer to by their names. */
export type NamedParameters = NonNullable<NamedParts['parameters']>;

/** The catalog entry; every sentence that only the contributor can write is marked as unfinished. */
export function catalogEntry(operation: NewOperation, named: NamedParameters): EntrySource {
  const { id, group, method, path, stability, authorizationClass, access, mutation } = operation;
  const { request, answer } = modelNames(operation);
  const ofJob = operation.job === null ? null : jobEntryParts(operation);
  const parameters = [...pathNames(path).map((name) => parameter(name, named)), ...(ofJob?.parameters ?? [])];
  const byMethod = method === 'GET' ? 'read' : method === 'DELETE' ? 'delete' : 'write';
  const problems = pathNames(path).some((name) => name !== 'tenantId') ? ['not_found'] : [];
  return {
    id,
    summary: sentence(id),
    description: unfinished('say in one or two sentences what the operation does and returns'),
    route: `${method} ${path}`,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(stability === 'public' ? {} : { stability }),
    authorizationClass,
    accessOperation: access,
    ...(mutation === byMethod ? {} : { mutation }),
    ...(ofJob === null ? {} : { completion: 'receipt-bound' }),
    ...(request === null ? {} : { request: { schema: request, bodyLimitBytes: 65_536 } }),
    responses: [
      {
        status: ofJob === null ? 200 : 202,
        schema: answer,
        description: unfinished('say what the answer contains'),
        ...(ofJob === null ? {} : { headers: ofJob.headers }),
      },
    ],
    ...(problems.length === 0 ? {} : { problems }),
    evidence: { tests: [conformancePath(group, id)] },
  };
}

export function conformancePath(group: string, id: string): string {
  return `test/conformance/${group}-${kebab(id)}.ts`;
}

/** Parameters that refuse `/ \ % ? #`; every other one without a name is free text. */
const STRICT: ReadonlySet<string> = new Set(['eventId']);

/** A named parameter if the group or the shared parts have one for this place in a path. */
function parameter(name: string, named: NamedParameters): ParameterSource {
  const known = Object.entries(named).filter(([, each]) => each.in === 'path' && each.name === name);
  const [only] = known.some(([key]) => key === name) ? [[name]] : known.length === 1 ? known : [];
  if (only?.[0] !== undefined) return only[0];
  return {
    in: 'path',
    name,
    required: true,
    ...(STRICT.has(name) ? { strict: true as const } : {}),
    schema: { type: 'string', minLength: 1, maxLength: 160 },
    description: unfinished(`say what ${name} names`),
  };
}
