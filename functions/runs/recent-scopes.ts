import type { Run, RunScope } from './run.ts';

/** Entries are small, and a run that is missing costs one more transaction at its end. */
const KEPT_MAX = 10_000;

/**
 * The scopes of active runs that this process has seen. With it the transaction that ends a run reads the counters of its
 * product and tenant in its first try.
 */
export class RecentScopes {
  readonly #scopes = new Map<string, RunScope>();

  saw({ id, scope, counted }: Run): void {
    this.#scopes.delete(id);
    if (scope === null || !counted) return;
    this.#scopes.set(id, scope);
    const [oldest] = this.#scopes.keys();
    if (this.#scopes.size > KEPT_MAX && oldest !== undefined) this.#scopes.delete(oldest);
  }

  of(runId: string): RunScope | null {
    return this.#scopes.get(runId) ?? null;
  }
}
