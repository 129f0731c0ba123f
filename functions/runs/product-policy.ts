import { invalidMember, ServiceError } from '../kernel/errors.ts';
import type { StartRequest } from './rules/start.ts';
import type { RunScope } from './run.ts';

/** The permissions of one product. An empty list restricts nothing. */
export interface ProductPolicy {
  readonly productId: string;
  readonly allowedHandlerIds: readonly string[];
  readonly allowedTenantIds: readonly string[];
  /** Workers that may lease runs of the product. */
  readonly allowedServiceIdentities: readonly string[];
  /** `null`: the limit of the deployment. */
  readonly payloadBytesMax: number | null;
  /** Required prefix of artifact names; empty for any. */
  readonly artifactPrefix: string;
  /** Top-level members that are removed from trace details. */
  readonly redactedNames: readonly string[];
}

const NOTHING_REDACTED: ReadonlySet<string> = new Set();

/**
 * The product policies of the specification, section ExecutionProductPolicy. With at least one policy, a new run
 * needs a known product and a tenant, and a forbidden start is refused before anything is stored.
 */
export class ProductPolicies {
  readonly #policies: ReadonlyMap<string, ProductPolicy>;
  readonly #redacted: ReadonlyMap<string, ReadonlySet<string>>;

  constructor(policies: readonly ProductPolicy[] = []) {
    this.#policies = new Map(policies.map((policy) => [policy.productId, policy]));
    this.#redacted = new Map(
      policies.map(({ productId, redactedNames }) => [productId, new Set(redactedNames)]),
    );
  }

  get active(): boolean {
    return this.#policies.size > 0;
  }

  /** Throws `product_policy_violation`, or `limit_exceeded` for a payload over the product's limit. */
  checkStart(request: StartRequest): void {
    if (!this.active) return;
    const { scope } = request;
    const policy = scope === null ? undefined : this.#policies.get(scope.productId);
    if (scope === null)
      throw violation('A new run needs a scope here: "scope": { "productId": "…", "tenantId": "…" }');
    if (policy === undefined) throw violation('A new run needs the scope of a product that is known here');
    // The list names handlers of customers; a job has been judged by the access rules of its group.
    if (request.job === undefined && !admits(policy.allowedHandlerIds, request.handlerId))
      throw violation('The product may not start this handler');
    if (!admits(policy.allowedTenantIds, scope.tenantId)) throw violation('The product has no such tenant');
    if (policy.payloadBytesMax !== null && request.payloadBytes > policy.payloadBytesMax) {
      const detail = `must be at most ${policy.payloadBytesMax} bytes for this product`;
      throw invalidMember('/payload', detail, 'limit_exceeded');
    }
  }

  /** Whether runs of this product and tenant may be started at all. */
  knows({ productId, tenantId }: Pick<RunScope, 'productId' | 'tenantId'>): boolean {
    const policy = this.#policies.get(productId);
    return !this.active || (policy !== undefined && admits(policy.allowedTenantIds, tenantId));
  }

  /** Whether a run of the scope may be started with the handler. */
  allowsHandler(scope: Pick<RunScope, 'productId'> | null, handlerId: string): boolean {
    if (!this.active) return true;
    const policy = scope === null ? undefined : this.#policies.get(scope.productId);
    return policy !== undefined && admits(policy.allowedHandlerIds, handlerId);
  }

  /** No worker may lease a run without a product once policies exist. */
  mayLease(scope: RunScope | null, workerId: string): boolean {
    if (!this.active) return true;
    const policy = scope === null ? undefined : this.#policies.get(scope.productId);
    return policy !== undefined && admits(policy.allowedServiceIdentities, workerId);
  }

  checkArtifactName(scope: RunScope | null, name: string): void {
    const prefix = this.#policies.get(scope?.productId ?? '')?.artifactPrefix ?? '';
    if (!name.startsWith(prefix)) {
      throw violation('Artifacts of this product have names with a prefix that this one lacks');
    }
  }

  redactedNames(scope: RunScope | null): ReadonlySet<string> {
    return this.#redacted.get(scope?.productId ?? '') ?? NOTHING_REDACTED;
  }
}

function violation(detail: string): ServiceError {
  return new ServiceError('product_policy_violation', detail);
}

function admits(list: readonly string[], id: string): boolean {
  return list.length === 0 || list.includes(id);
}
