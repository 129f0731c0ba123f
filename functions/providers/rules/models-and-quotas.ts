import { formatUtc } from '../../kernel/timestamp.ts';
import type { ProviderTarget } from './target.ts';

const NOT_REGISTERED = {
  failureClass: 'unsupported',
  providerStatus: 'provider_not_registered',
} as const;

/** The models of a provider: the one that the settings name. No provider is asked. */
export function modelsOf(target: ProviderTarget, now: number) {
  const { id, displayName, isLocal, modelId, capabilities } = target;
  return {
    provider: id,
    status: 'succeeded' as const,
    source: isLocal ? 'local-static' : 'configuration',
    defaultModelId: modelId,
    items: [
      {
        id: modelId,
        displayName: isLocal ? displayName : modelId,
        default: true,
        capabilities: [...capabilities],
        metadata: {},
      },
    ],
    failureClass: null,
    providerStatus: null,
    generatedAt: formatUtc(now),
  };
}

/** The use of one limit, and the time at which its count restarts, in milliseconds since 1970. */
export interface SpentLimit {
  readonly used: number;
  readonly max: number;
  readonly resetsAt: number;
}

export interface Quotas {
  /** `null`: without this limit. */
  readonly callsOfMinute: SpentLimit | null;
  readonly tokensOfDay: SpentLimit | null;
}

/** The rest of the limits that the settings set for a provider. The provider itself does not report it, so it is advisory. */
export function quotaOf({ id, isLocal }: ProviderTarget, quotas: Quotas, now: number) {
  const items = isLocal ? [] : bucketsOf(quotas);
  const isKnown = items.length > 0;
  return {
    provider: id,
    status: isKnown ? ('succeeded' as const) : ('unsupported' as const),
    source: isKnown ? 'configuration' : 'none',
    advisory: true,
    items,
    failureClass: isKnown ? null : 'unsupported',
    providerStatus: isKnown ? null : 'quota_unsupported',
    generatedAt: formatUtc(now),
    metadata: {},
  };
}

const MINUTES_OF_DAY = 1_440;

function bucketsOf({ callsOfMinute, tokensOfDay }: Quotas) {
  return [
    ...(callsOfMinute === null ? [] : [bucket('calls_per_minute', windowOf(callsOfMinute, 1))]),
    ...(tokensOfDay === null ? [] : [bucket('tokens_per_day', windowOf(tokensOfDay, MINUTES_OF_DAY))]),
  ];
}

function bucket(limitId: string, primary: ReturnType<typeof windowOf>) {
  return {
    limitId,
    limitName: null,
    primary,
    secondary: null,
    rateLimitReachedType: primary.remainingPercent === 0 ? limitId : null,
    planType: null,
    credits: null,
    metadata: {},
  };
}

function windowOf({ used, max, resetsAt }: SpentLimit, windowDurationMins: number) {
  const usedPercent = Math.min(100, Math.round((used / max) * 1_000) / 10);
  return {
    usedPercent,
    remainingPercent: Math.round((100 - usedPercent) * 10) / 10,
    windowDurationMins,
    resetsAtUnixSeconds: Math.ceil(resetsAt / 1_000),
    resetsAt: formatUtc(resetsAt),
  };
}

/** The models of a provider that is not registered. */
export function unknownModels(provider: string, now: number) {
  return {
    provider,
    status: 'unsupported' as const,
    source: 'none',
    defaultModelId: null,
    items: [],
    ...NOT_REGISTERED,
    generatedAt: formatUtc(now),
  };
}

/** The quota of a provider that is not registered. */
export function unknownQuota(provider: string, now: number) {
  return {
    provider,
    status: 'unsupported' as const,
    source: 'none',
    advisory: true,
    items: [],
    ...NOT_REGISTERED,
    generatedAt: formatUtc(now),
    metadata: {},
  };
}
