import type { Log } from '../../kernel/log.ts';
import type { PageTokens } from '../../kernel/page-token.ts';
import type { QuotaLimit } from '../../kernel/quota.ts';
import type { World } from '../../kernel/world.ts';
import type { ByteOwner, RecordStore } from '../../store/port.ts';
import type { DeliveredRetention } from './outbox/retention.ts';
import type { OutboxWaits } from './outbox/wake.ts';

/** What the canonical operations depend on. The store is opened by the first call that needs it, not before. */
export interface CanonicalDependencies {
  readonly store: () => Promise<RecordStore>;
  readonly world: World;
  readonly pageTokens: PageTokens;
  readonly log: Log;
  readonly configuration: CanonicalConfiguration;
  /** Absent: no lease call waits. */
  readonly waits?: OutboxWaits;
  /** Absent: delivered events are kept for ever. */
  readonly retention?: DeliveredRetention;
}

/** The settings that the preflight report shows. None of them is secret. */
export interface CanonicalConfiguration {
  /** Whether the environment is Development, where a store without policies is an offer and not a fault. */
  readonly development: boolean;
  /** The provider's name in the settings. */
  readonly provider: string;
  readonly authenticationMode: string;
  readonly identityPolicyCount: number;
  /** Whether a call needs a policy that grants it. */
  readonly tenantPoliciesEnforced: boolean;
  /** The largest answer that the platform in front carries, in bytes; `null` where there is no bound. */
  readonly messageBytesMax: number | null;
  /** How much an owner may store. */
  readonly limitOf: (owner: ByteOwner) => QuotaLimit;
  readonly rateLimit: { readonly permitLimit: number; readonly windowSeconds: number };
}
