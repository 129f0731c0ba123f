import type { CallContext, GroupHandlers, OperationInput } from '../../../http/handler.ts';
import { type AdmittedJob, accepted, admitJob } from '../../../jobs/admit-job.ts';
import { type JobCall, type JobFamily, jobCall, ofCall } from '../../../jobs/job-family.ts';
import { canonicalJson, type Json } from '../../../kernel/canonical-json.ts';
import { invalidMember, ServiceError } from '../../../kernel/errors.ts';
import { checkText } from '../../../kernel/identifiers.ts';
import { inputHashOf, namesOf, type RunRequest } from '../../../providers/rules/run-request.ts';
import { type ProviderLayers, providerJobFacts, providerJobView } from './job-view.ts';
import { PROVIDER_HANDLER } from './provider-jobs.ts';

type Handlers = GroupHandlers<'providers'>;
type Family = JobFamily<ProviderLayers>;

/** @testonly */
export interface ProviderJobRequest extends JobCall {
  readonly operationId: 'runProviderCapability' | 'startProviderRunJob';
  /** Of the path. */
  readonly provider: string;
  readonly body: RunRequest & { readonly provider?: string | null };
}

/**
 * Admits a job that runs a capability. A refusal of the capability is the result of the job. Throws `permission_denied` before it
 * checks the request, `not_found` for an unknown provider, `validation_failed` for a name with control characters, and the errors
 * of `admitJob`.
 * @testonly
 */
export async function admitProviderJob(
  { jobs, plugin, access, provider: registered }: Family,
  call: ProviderJobRequest,
): Promise<AdmittedJob> {
  const { operationId, provider, body } = call;
  const space = access.spaceOf(call.caller, 'run', call.query.tenantId);
  const { provider: named = null, ...request } = body;
  if (named !== null && named !== provider)
    throw invalidMember('/provider', 'must be the provider of the path where it is given');
  if (registered(provider) === undefined) throw new ServiceError('not_found', 'There is no such provider.');
  checkUnicode(request);
  const names = namesOf(request);
  // These become tags of the run, so they must be valid there.
  for (const [name, value] of Object.entries(names)) checkText(value, `/${name}`);
  const facts = { provider, ...names, requestHash: inputHashOf(request) };
  return admitJob(jobs, plugin, {
    ...ofCall(access, call, space),
    operationId,
    handlerId: PROVIDER_HANDLER,
    subject: provider,
    payload: { provider, request: request as unknown as Json },
    correlationId: correlationOf(request, call.correlationId),
    tags: providerJobFacts.tagsOf(facts),
  });
}

function correlationOf({ correlationId }: RunRequest, otherwise: string): string {
  const given = (correlationId ?? '').trim();
  checkText(given, '/correlationId');
  return given === '' ? otherwise : given;
}

/** Refuses texts that are not well-formed: the service can neither store them nor send them to a provider. */
function checkUnicode(request: RunRequest): void {
  try {
    canonicalJson(request);
  } catch {
    throw invalidMember('', 'must be well-formed Unicode');
  }
}

export function runProviderCapability(family: Family): Handlers['runProviderCapability'] {
  return (input, context) => admitted('runProviderCapability', family, input, context);
}

export function startProviderRunJob(family: Family): Handlers['startProviderRunJob'] {
  return (input, context) => admitted('startProviderRunJob', family, input, context);
}

/** Both routes admit the same job. Its receipt names the called route. */
async function admitted(
  operationId: ProviderJobRequest['operationId'],
  family: Family,
  input: OperationInput<'startProviderRunJob'>,
  context: CallContext,
) {
  const { provider } = input.params;
  const request = { ...jobCall(input, context), operationId, provider, body: input.body };
  return accepted(await admitProviderJob(family, request), providerJobView);
}
