import type { Caller } from '../../../identity/caller.ts';
import { type AdmittedJob, admitJob, type Jobs } from '../../../jobs/admit-job.ts';
import type { JobPlugin } from '../../../jobs/job-plugin.ts';
import { jobScope, type ProductTenant } from '../../../jobs/job-scope.ts';
import { canonicalJson, type Json } from '../../../kernel/canonical-json.ts';
import { invalidMember, ServiceError } from '../../../kernel/errors.ts';
import { checkText } from '../../../kernel/identifiers.ts';
import { inputHashOf, namesOf, type RunRequest } from '../../../providers/rules/run-request.ts';
import { tagsOf } from './job-facts.ts';
import { PROVIDER_HANDLER, type ProviderJobsParts } from './job-parts.ts';

/** What the operations that admit and show provider jobs work with. */
export interface ProviderJobDependencies extends Pick<ProviderJobsParts, 'access' | 'provider'> {
  readonly jobs: Jobs;
  readonly plugin: JobPlugin;
}

export interface ProviderJobRequest {
  readonly operationId: 'runProviderCapability' | 'startProviderRunJob';
  readonly caller: Caller;
  readonly query: ProductTenant;
  /** Of the path. */
  readonly provider: string;
  readonly body: RunRequest & { readonly provider?: string | null };
  readonly idempotencyKey: string | null;
  readonly correlationId: string;
}

/**
 * Admits a job that runs a capability, also one that will be refused: the refusal is its result. Throws `permission_denied` before
 * it judges the request, `not_found` for a provider that is not registered, `validation_failed` for a name with control characters,
 * and what `admitJob` throws.
 */
export async function admitProviderJob(
  { jobs, plugin, access, provider: registered }: ProviderJobDependencies,
  { operationId, caller, query, provider, body, idempotencyKey, correlationId }: ProviderJobRequest,
): Promise<AdmittedJob> {
  const space = access.spaceOf(caller, 'run', query.tenantId);
  const { provider: named = null, ...request } = body;
  if (named !== null && named !== provider)
    throw invalidMember('/provider', 'must be the provider of the path where it is given');
  if (registered(provider) === undefined) throw new ServiceError('not_found', 'There is no such provider.');
  checkUnicode(request);
  const names = namesOf(request);
  // The tags of the job, by which runs are listed.
  for (const [name, value] of Object.entries(names)) checkText(value, `/${name}`);
  const facts = { provider, ...names, requestHash: inputHashOf(request) };
  return admitJob(jobs, plugin, {
    operationId,
    handlerId: PROVIDER_HANDLER,
    caller,
    scope: jobScope(query, access.ownerOf(caller), caller.principal),
    space,
    subject: provider,
    payload: { provider, request: request as unknown as Json },
    idempotencyKey,
    correlationId: correlationOf(request, correlationId),
    tags: tagsOf(facts),
  });
}

function correlationOf({ correlationId }: RunRequest, ofCall: string): string {
  const given = (correlationId ?? '').trim();
  checkText(given, '/correlationId');
  return given === '' ? ofCall : given;
}

/** Texts that are not well-formed cannot be stored, nor sent to a provider. */
function checkUnicode(request: RunRequest): void {
  try {
    canonicalJson(request);
  } catch {
    throw invalidMember('', 'must be well-formed Unicode');
  }
}
