import type { Log } from '../../kernel/log.ts';
import type { PageTokens } from '../../kernel/page-token.ts';
import type { QuotaLimit } from '../../kernel/quota.ts';
import type { World } from '../../kernel/world.ts';
import type { ByteOwner, RecordStore } from '../../store/port.ts';
import type { DeliveredRetention } from './outbox/retention.ts';
import type { OutboxWaits } from './outbox/wake.ts';

/** The dependencies of the canonical operations. The first call that needs the store opens it. */
export interface CanonicalDependencies {
  readonly store: () => Promise<RecordStore>;
  readonly world: World;
  readonly pageTokens: PageTokens;
  readonly log: Log;
  readonly configuration: CanonicalConfiguration;
  /** Absent: lease calls do not wait. */
  readonly waits?: OutboxWaits;
  /** Absent: delivered events are kept for ever. */
  readonly retention?: DeliveredRetention;
}

/** The settings that the preflight report shows. None of them is secret. */
export interface CanonicalConfiguration {
  /** Whether the environment is Development, where a store without policies is no fault. */
  readonly development: boolean;
  /** The provider's name in the settings. */
  readonly provider: string;
  readonly authenticationMode: string;
  readonly identityPolicyCount: number;
  /** Whether a call needs a policy that grants it. */
  readonly tenantPoliciesEnforced: boolean;
  /** The largest answer that the platform in front carries, in bytes; `null` for no bound. */
  readonly messageBytesMax: number | null;
  /** The quota of an owner. */
  readonly limitOf: (owner: ByteOwner) => QuotaLimit;
  readonly rateLimit: { readonly permitLimit: number; readonly windowSeconds: number };
}
