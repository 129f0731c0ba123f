import {
  choice,
  decimal,
  integer,
  list,
  members,
  secretText,
  spacedText,
  switched,
  text,
  truth,
} from '../kinds.ts';
import type { Secret } from '../secret.ts';
import { setting } from '../setting.ts';
import { VECTOR_LENGTH_MAX } from './embeddings.ts';
import { anyText, baseAddress, locationName, projectName, providerId } from './texts.ts';

export type ProviderKind = 'deterministic' | 'openai-compatible' | 'vertex';

/** The uses of an entry's model. */
export type ProviderCapability =
  | 'ai.chat'
  | 'ai.embedding'
  | 'ai.extract'
  | 'ai.rerank'
  | 'ai.review'
  | 'ai.scaffold'
  | 'ai.toolPlan';

const capability = choice<ProviderCapability>({
  'ai.chat': [],
  'ai.embedding': [],
  'ai.extract': [],
  'ai.rerank': [],
  'ai.review': [],
  'ai.scaffold': [],
  'ai.toolPlan': ['ai.toolplan'],
});

/** The member of a chat completions request that limits the output. */
export type TokenParameter = 'max_tokens' | 'max_completion_tokens';

/** A model that the service may call. Which members it needs depends on its kind. */
export interface ProviderSetting {
  readonly Id: string;
  readonly Kind: ProviderKind;
  readonly DisplayName: string;
  readonly BaseAddress: string;
  readonly Model: string;
  readonly Dimensions: number;
  readonly SendsDimensions: boolean;
  readonly AllowsPlainHttp: boolean;
  readonly QueryPrefix: string;
  readonly PassagePrefix: string;
  readonly SymmetricPrefix: string;
  readonly ApiKey: Secret;
  readonly ApiKeyFile: string;
  readonly ProjectId: string;
  readonly LocationId: string;
  readonly TimeoutSeconds: number;
  readonly QueueSeconds: number;
  readonly CallsPerMinute: number;
  readonly TokensPerDayMax: number;
  readonly SpaceSharePercent: number;
  readonly Capabilities: readonly ProviderCapability[];
  readonly OutputTokensMax: number;
  readonly TokenParameter: TokenParameter;
  readonly InputPrice: number;
  readonly OutputPrice: number;
}

/** The capabilities of an entry; the default is embedding. */
export function capabilitiesOf({ Capabilities }: Partial<ProviderSetting>): readonly ProviderCapability[] {
  return Capabilities ?? ['ai.embedding'];
}

const prefix = spacedText('1 to 512 characters', /^[^\p{Cc}]{1,512}$/u);
const credential = secretText('1 to 4,096 visible ASCII characters', /^[\x21-\x7e]{1,4096}$/);

/** Models beside those of the service. */
// biome-ignore format: a table reads better with one setting a line or two
export const providers = {
  enableLiveTargets: setting('Providers:EnableLiveTargets', switched(), false,
    'Whether the service may call the providers of Providers over the network. Without it they are listed as disabled.'),
  list: setting<readonly Partial<ProviderSetting>[]>('Providers',
    list(members<ProviderSetting>({
      Id: providerId, Kind: choice<ProviderKind>({ deterministic: [], 'openai-compatible': ['openai'], vertex: ['vertex-ai'] }), DisplayName: anyText,
      BaseAddress: baseAddress, Model: text('the name of a model', /^[\x21-\x7e]{1,160}$/), Dimensions: integer(1, VECTOR_LENGTH_MAX), SendsDimensions: truth(), AllowsPlainHttp: truth(),
      QueryPrefix: prefix, PassagePrefix: prefix, SymmetricPrefix: prefix, ApiKey: credential, ApiKeyFile: anyText,
      ProjectId: projectName, LocationId: locationName, TimeoutSeconds: integer(1, 300), QueueSeconds: integer(5, 600), CallsPerMinute: integer(1, 100_000), TokensPerDayMax: integer(1, 1_000_000_000_000), SpaceSharePercent: integer(1, 100),
      Capabilities: list(capability), OutputTokensMax: integer(1, 131_072), TokenParameter: choice<TokenParameter>({ max_tokens: [], max_completion_tokens: [] }), InputPrice: decimal(0, 100_000), OutputPrice: decimal(0, 100_000),
    })), [],
    'Models beside those of the service; docs/providers.md and docs/embeddings.md describe the members. Each needs Id and Model, Dimensions where it gives vectors, openai-compatible BaseAddress, vertex ProjectId and LocationId. ApiKeyFile holds the key.'),
} as const;
