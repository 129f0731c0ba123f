import { expect } from 'vitest';
import type {
  ExecutionExternalWorkerLease,
  ExecutionExternalWorkerWaitResponse,
  ExecutionRun,
  ExecutionRunList,
} from '../../contracts/generated/models.ts';

const READER = 'reader@example.test';
const HANDLER = 'test.work';
/** The handler whose runs wait for a timer. */
export const TIMED = 'test.timed';

/** Both releases know these settings. The caller's grant makes lists go by product and tenant. */
export function settingsFor(tenant: string): readonly string[] {
  const settings: Record<string, string> = {
    'ExecutionRuntime:ExternalHandlers:0:HandlerId': HANDLER,
    'ExecutionRuntime:ExternalHandlers:0:MaxAttempts': '3',
    'ExecutionRuntime:ExternalHandlers:1:HandlerId': TIMED,
    'ExecutionRuntime:MaxActiveRuns': '100',
    'ExecutionRuntime:ProductPolicies:0:ProductId': 'p',
    'ExecutionRuntime:ProductPolicies:0:AllowedTenantIds:0': tenant,
    'ExecutionRuntime:ProductPolicies:0:AllowedHandlerIds:0': HANDLER,
    'ExecutionRuntime:ProductPolicies:0:AllowedHandlerIds:1': TIMED,
    'Server:ExecutionAccess:AuthenticationMode': 'development-header',
    'Server:ExecutionAccess:IdentityPolicies:0:Principal': READER,
    'Server:ExecutionAccess:IdentityPolicies:0:ProductId': 'p',
    'Server:ExecutionAccess:IdentityPolicies:0:AllowedTenantIds:0': tenant,
    'Server:ExecutionAccess:IdentityPolicies:0:WorkerId': 'worker',
    'Server:LogLevel': 'error',
  };
  for (const [at, operation] of [
    'start_run',
    'read_run',
    'cancel_run',
    'raise_event',
    'worker',
    'maintenance',
  ].entries())
    settings[`Server:ExecutionAccess:IdentityPolicies:0:AllowedOperations:${at}`] = operation;
  return Object.entries(settings).map(([name, value]) => `${name}=${value}`);
}

interface Answer<T> {
  readonly status: number;
  readonly body: T;
}

/** One tenant at one server. Calls answer the body and fail on a problem, unless a status is expected. */
export class TenantAt {
  readonly #address: () => string;
  readonly tenant: string;

  constructor(address: () => string, tenant: string) {
    this.#address = address;
    this.tenant = tenant;
  }

  async call<T>(method: string, path: string, body?: unknown): Promise<Answer<T>> {
    const response = await fetch(`${this.#address()}${path}`, {
      method,
      headers: { 'content-type': 'application/json', 'x-svc-development-identity': READER },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: (text === '' ? null : JSON.parse(text)) as T };
  }

  async #done<T>(method: string, path: string, body?: unknown): Promise<T> {
    const answer = await this.call<T>(method, path, body);
    expect(answer.status, `${method} ${path}: ${JSON.stringify(answer.body)}`).toBeLessThan(300);
    return answer.body;
  }

  canonical<T>(path: string, body: object): Promise<T> {
    return this.#done('POST', `/canonical/tenants/${this.tenant}${path}`, body);
  }

  refused(path: string, body: object): Promise<Answer<{ code: string }>> {
    return this.call('POST', `/canonical/tenants/${this.tenant}${path}`, body);
  }

  start(more: object = {}): Promise<ExecutionRun> {
    const scope = { productId: 'p', tenantId: this.tenant };
    return this.#done('POST', '/execution/runs', { handlerId: HANDLER, scope, ...more });
  }

  run(id: string): Promise<ExecutionRun> {
    return this.#done('GET', `/execution/runs/${id}`);
  }

  async list(query = ''): Promise<readonly string[]> {
    const runs = await this.#done<ExecutionRunList>('GET', `/execution/runs?limit=200${query}`);
    return runs.map(({ id }) => id);
  }

  cancel(id: string): Promise<ExecutionRun> {
    return this.#done('DELETE', `/execution/runs/${id}`);
  }

  raise(id: string, name: string, payload: unknown): Promise<unknown> {
    return this.#done('POST', `/execution/runs/${id}/events`, { name, payload });
  }

  read<T>(id: string, what: string): Promise<T> {
    return this.#done('GET', `/execution/runs/${id}/${what}`);
  }

  async lease(runId: string): Promise<Work> {
    const given = { workerId: 'worker', handlerIds: [HANDLER, TIMED], runId, ttlSeconds: 600 };
    const lease = await this.#done<ExecutionExternalWorkerLease>('POST', '/execution/workers/leases', given);
    const { leaseKey, leaseToken } = lease;
    return { leaseKey, leaseToken, workerId: 'worker' };
  }

  /** A call of the worker that holds the lease. */
  work<T>(call: string, work: Work, more: object = {}): Promise<T> {
    return this.#done('POST', `/execution/workers/leases/${call}`, { ...work, ...more });
  }

  wait(work: Work, more: object): Promise<ExecutionExternalWorkerWaitResponse> {
    return this.work('wait', work, more);
  }
}

export interface Work {
  readonly leaseKey: string;
  readonly leaseToken: string;
  readonly workerId: string;
}
