import { type AdmittedJob, admitJob } from '../../../jobs/admit-job.ts';
import { type JobCall, type JobFamily, ownerOf } from '../../../jobs/job-family.ts';
import { canonicalJson, type Json } from '../../../kernel/canonical-json.ts';
import { invalidMember, ServiceError } from '../../../kernel/errors.ts';
import { checkText } from '../../../kernel/identifiers.ts';
import { inputHashOf, namesOf, type RunRequest } from '../../../providers/rules/run-request.ts';
import { PROVIDER_HANDLER, type ProviderLayers, tagsOf } from './job-facts.ts';

export interface ProviderJobRequest extends JobCall {
  readonly operationId: 'runProviderCapability' | 'startProviderRunJob';
  /** Of the path. */
  readonly provider: string;
  readonly body: RunRequest & { readonly provider?: string | null };
}

/**
 * Admits a job that runs a capability, also one that will be refused: the refusal is its result. Throws `permission_denied` before
 * it judges the request, `not_found` for a provider that is not registered, `validation_failed` for a name with control characters,
 * and what `admitJob` throws.
 */
export async function admitProviderJob(
  { jobs, plugin, access, provider: registered }: JobFamily<ProviderLayers>,
  call: ProviderJobRequest,
): Promise<AdmittedJob> {
  const { operationId, caller, query, provider, body, idempotencyKey, correlationId } = call;
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
    ...ownerOf(access, call, space),
    operationId,
    handlerId: PROVIDER_HANDLER,
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
