import type { PageTokens } from '../kernel/page-token.ts';
import type { World } from '../kernel/world.ts';
import type { RecordStore } from '../store/port.ts';

/** What the canonical operations are given. The store is opened by the first call that needs it, not before. */
export interface CanonicalDependencies {
  readonly store: () => Promise<RecordStore>;
  readonly world: World;
  readonly pageTokens: PageTokens;
}
