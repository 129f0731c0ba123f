import type { RecordParts } from '../collections/parts.ts';
import type { StagedPayloads } from '../collections/staged-payloads.ts';
import type { Caller } from '../identity/caller.ts';
import type { RecordAccess } from '../identity/record-access.ts';
import { invalidMember } from '../kernel/errors.ts';
import { identifier } from '../kernel/identifiers.ts';
import type { PageTokens } from '../kernel/page-token.ts';
import type { RunScope } from '../runs/run.ts';
import type { JobRequest, Jobs } from './admit-job.ts';
import type { JobPlugin } from './job-plugin.ts';

/** The layers that the handlers of all families of jobs use. A family adds layers of its own. */
export interface JobLayers {
  readonly records: RecordParts;
  /** Store of requests that are too large for a run. The upkeep of the record jobs removes leftovers of a crash. */
  readonly payloads: StagedPayloads;
  readonly access: RecordAccess;
  /** A larger result is stored outside its run. */
  readonly resultBytesMax: number;
}

/** A family of jobs in a process with its operations: layers, plugin, runtime and the page tokens of its list. */
export type JobFamily<Layers = JobLayers> = Layers & {
  readonly jobs: Jobs;
  readonly plugin: JobPlugin;
  readonly pageTokens: PageTokens;
};

/**
 * A product and a tenant, named by the query or by an access policy.
 * @testonly
 */
export interface ProductTenant {
  readonly productId?: string | undefined;
  readonly tenantId?: string | undefined;
}

/**
 * The product and tenant of a job: those of the query, else those of the caller's access policy, else none. Where product
 * policies exist, the runtime refuses a job without a known product.
 * @testonly
 */
export function jobScope(
  query: ProductTenant,
  granted: Required<ProductTenant> | null,
  principal: string | null,
): RunScope | null {
  const { productId, tenantId } = query;
  if ((productId === undefined) !== (tenantId === undefined)) {
    const missing = productId === undefined ? '/productId' : '/tenantId';
    throw invalidMember(missing, 'must be given together with the other of productId and tenantId');
  }
  const named = productId === undefined ? granted : query;
  if (named?.productId === undefined || named.tenantId === undefined) return null;
  return {
    productId: identifier(named.productId, '/productId'),
    tenantId: identifier(named.tenantId, '/tenantId'),
    serviceIdentity: principal,
  };
}

/** The members that the requests of all families share. */
export interface JobCall {
  readonly caller: Caller;
  readonly query: ProductTenant;
  readonly idempotencyKey: string | null;
  readonly correlationId: string;
}

/**
 * The owner of a new job: a space in which the caller may start it, and the product and tenant of the query or the policy.
 * @testonly
 */
export function ownerOf(
  access: Pick<RecordAccess, 'ownerOf'>,
  { caller, query }: Pick<JobCall, 'caller' | 'query'>,
  space: string,
): Pick<JobRequest, 'caller' | 'scope' | 'space'> {
  return { caller, scope: jobScope(query, access.ownerOf(caller), caller.principal), space };
}

/** The members of an operation that starts a job. */
export interface StartInput {
  readonly query: ProductTenant;
  readonly idempotencyKey: string | null;
}

export function jobCall(
  { query, idempotencyKey }: StartInput,
  { caller, correlationId }: Pick<JobCall, 'caller' | 'correlationId'>,
): JobCall {
  return { caller, query, idempotencyKey, correlationId };
}

/** A call that starts a job on one collection. */
export interface CollectionCall extends JobCall {
  readonly operationId: string;
  readonly collection: string;
  /** The JSON text of the request. */
  readonly text: string;
}

export function collectionCall(
  operationId: string,
  input: StartInput & { readonly params: { readonly collection: string }; readonly text: () => string },
  context: Pick<JobCall, 'caller' | 'correlationId'>,
): CollectionCall {
  const { collection } = input.params;
  return { ...jobCall(input, context), operationId, collection, text: input.text() };
}

type OfCall = Pick<JobRequest, 'caller' | 'scope' | 'space' | 'idempotencyKey' | 'correlationId'>;

/** The members that a new job takes from the call that starts it. */
export function ofCall(access: Pick<RecordAccess, 'ownerOf'>, call: JobCall, space: string): OfCall {
  const { idempotencyKey, correlationId } = call;
  return { ...ownerOf(access, call, space), idempotencyKey, correlationId };
}
