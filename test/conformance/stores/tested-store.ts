import { test } from 'vitest';
import type { Collection, RecordStore } from '../../../functions/store/port.ts';

export type StoreName = 'memory' | 'sqlite' | 'postgresql' | 'mysql' | 'firestore';

declare module 'vitest' {
  export interface ProvidedContext {
    /** The stores that the lane tests. */
    readonly stores: readonly StoreName[];
  }
}

/** A database under test; tests without a race or a search of their own need no more of it. */
export interface TestedStore {
  readonly name: StoreName;
  /** The name in titles of tests; a variant of a store has one of its own. */
  readonly title: string;
  /** Why this run has no such database. */
  readonly missing?: string | undefined;
  /** The same store with other options, which must give the very same answers. */
  readonly variants?: readonly TestedStore[];
  /** Whether the queue of the deployment delivers runs, rather than the process that admits them. */
  readonly delivers?: boolean;
  /** Creates a database of its own; each call of the answer opens one more store over it. */
  create(collections: readonly Collection[]): Promise<() => Promise<RecordStore>>;
}

/** The only store over a database of its own. */
export async function openStore(tested: TestedStore, collections: readonly Collection[]) {
  return (await tested.create(collections))();
}

/** The stores of this run. For each other store a skipped test shows the reason. */
export function present(stores: readonly TestedStore[]): readonly TestedStore[] {
  for (const { title, missing } of stores)
    if (missing !== undefined) test.skip(`on ${title}: left out, ${missing}`, () => undefined);
  return stores.filter(({ missing }) => missing === undefined);
}
