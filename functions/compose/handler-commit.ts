import { createCall } from '../http/in-process.ts';
import type { ChainOptions } from '../http/options.ts';
import { lazy } from '../kernel/lazy.ts';
import type { Runtime } from '../runs/runtime.ts';

/**
 * Commits of handlers in this process. They pass the validation of the contract, and are not authorized: a plugin is code of the
 * operator, with all rights of the process. The principal that started the run is the actor.
 */
export function createCommit(serving: () => Promise<ChainOptions>): NonNullable<Runtime['commit']> {
  const call = lazy(
    async () => createCall({ ...(await serving()), authorizer: { authorize: () => undefined } }),
    () => Promise.resolve(),
  );
  return async ({ scope }, tenantId, body) => {
    const principal = scope?.serviceIdentity ?? null;
    const caller =
      principal === null
        ? ({ kind: 'development', principal } as const)
        : ({ kind: 'workload', principal } as const);
    const made = await call.get();
    const answer = await made('commitCanonicalTransaction', { params: { tenantId }, body }, caller);
    return answer.body;
  };
}
