import type { Run, RunScope } from './run.ts';

/** Entries are small, and a run that is missing costs one more transaction at its end. */
const KEPT_MAX = 10_000;

interface Seen {
  readonly scope: RunScope | null;
  readonly parentId: string | null;
}

/**
 * The scopes and parents of active runs that this process has seen. With it the transaction that ends a run reads the counters of
 * its product and tenant, and the link of its parent, in its first try.
 */
export class RecentScopes {
  readonly #seen = new Map<string, Seen>();

  saw({ id, scope, counted, parentId: parent }: Run): void {
    this.#seen.delete(id);
    const parentId = parent ?? null;
    if ((scope === null && parentId === null) || !counted) return;
    this.#seen.set(id, { scope, parentId });
    const [oldest] = this.#seen.keys();
    if (this.#seen.size > KEPT_MAX && oldest !== undefined) this.#seen.delete(oldest);
  }

  of(runId: string): RunScope | null {
    return this.#seen.get(runId)?.scope ?? null;
  }

  parentOf(runId: string): string | null {
    return this.#seen.get(runId)?.parentId ?? null;
  }
}
