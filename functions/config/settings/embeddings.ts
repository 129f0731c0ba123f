import { integer } from '../kinds.ts';
import { setting } from '../setting.ts';
import { providerId } from './texts.ts';

/** Longest vector that an embedding provider may be set to. */
export const VECTOR_LENGTH_MAX = 8_192;

/** Embeddings: served where collections and records are. */
// biome-ignore format: a table reads better with one setting a line or two
export const embeddings = {
  provider: setting('Embeddings:Provider', providerId, 'local-token-hash',
    'The provider that gives texts their vectors: local-token-hash or deterministic-hash, which are part of the service, or the Id of an entry of Providers.'),
  dimensions: setting<number | null>('Embeddings:Dimensions', integer(1, VECTOR_LENGTH_MAX), null,
    'Length of the vectors of local-token-hash and deterministic-hash. Default: 384 and 64.', { unit: 'numbers' }),
  paidVectorRetentionDays: setting<number | null>('Embeddings:PaidVectorRetentionDays', integer(1, 36_500), null,
    'How long the vectors of paid providers are kept. They are removed within about an hour after. Applies to vectors that are stored while it is set. Default: as long as their space exists.', { unit: 'days' }),
  patienceMinutes: setting('Embeddings:PatienceMinutes', integer(0, 10_080), 15,
    'How long jobs wait for a provider that fails (408, 429, 5xx, no connection), from its first failure since an answer. 0: jobs do not wait.', { unit: 'minutes' }),
} as const;
