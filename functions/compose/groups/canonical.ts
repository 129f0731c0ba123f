import type { Settings } from '../../config/table.ts';
import type { CanonicalConfiguration } from '../../groups/canonical/dependencies.ts';
import type { GroupModule } from '../group.ts';
import { pageTokensOf } from '../page-tokens.ts';
import { limitsOf } from '../quotas.ts';

export const group: GroupModule = {
  bytesMax: 330_000,
  async collections() {
    return (await import('../../groups/canonical/records.ts')).collections;
  },
  async load(parts) {
    const { settings, store, world, log } = parts;
    const { canonicalHandlers, DeliveredRetention, OutboxWaits } = await import(
      '../../groups/canonical/handlers.ts'
    );
    const pageTokens = pageTokensOf(parts);
    const waits = new OutboxWaits(world);
    const keptDays = settings.canonicalStore.deliveredEventRetentionDays;
    const retention = new DeliveredRetention({ keptDays, store: store.get, clock: world.clock, log });
    const configuration = configurationOf(settings);
    const own = { pageTokens, configuration, waits, retention };
    return { handlers: canonicalHandlers({ store: store.get, world, log, ...own }), extra: [] };
  },
};

function configurationOf(settings: Settings): CanonicalConfiguration {
  const { service, canonicalStore, canonicalAccess, rateLimit } = settings;
  const identityPolicyCount = canonicalAccess.identityPolicies.length;
  return {
    development: service.environment === 'Development',
    provider: canonicalStore.provider,
    authenticationMode: canonicalAccess.authenticationMode,
    identityPolicyCount,
    // Without a policy, Development lets every caller in: see `identity.ts`.
    tenantPoliciesEnforced: identityPolicyCount > 0,
    messageBytesMax: settings.server.messageBytesMax,
    limitOf: limitsOf(settings),
    rateLimit,
  };
}
