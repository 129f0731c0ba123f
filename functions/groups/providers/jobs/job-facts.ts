import type { Run } from '../../../runs/run.ts';

/** What a request asks for, as the views of a whole list show it: a run has it beside its payload, which would need a read each. */
export interface ProviderJobFacts {
  readonly provider: string;
  readonly capability: string;
  readonly operation: string;
  readonly mode: string;
  /** Hash of the payload of the capability. */
  readonly requestHash: string;
}

const TAGS = {
  provider: 'svc.provider',
  capability: 'svc.provider.capability',
  operation: 'svc.provider.operation',
  mode: 'svc.provider.mode',
  requestHash: 'svc.provider.payload-hash',
} as const;

type Tags = Readonly<Record<string, string>>;

export function tagsOf(facts: ProviderJobFacts): Tags {
  return Object.fromEntries(
    Object.entries(TAGS).map(([name, tag]) => [tag, facts[name as keyof ProviderJobFacts]]),
  );
}

export function factsOf({ tags }: Pick<Run, 'tags'>): ProviderJobFacts {
  return {
    provider: tags[TAGS.provider] ?? '',
    capability: tags[TAGS.capability] ?? '',
    operation: tags[TAGS.operation] ?? '',
    mode: tags[TAGS.mode] ?? '',
    requestHash: tags[TAGS.requestHash] ?? '',
  };
}
