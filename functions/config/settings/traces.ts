import { integer } from '../kinds.ts';
import { setting } from '../setting.ts';

/** Traces of operations, kept beside the records of a space. */
// biome-ignore format: a table reads better with one setting a line or two
export const traces = {
  retentionDays: setting<number | null>('Traces:RetentionDays', integer(1, 36_500), null,
    'How long the traces of operations are kept. Older ones are removed within about an hour. Default: until they are pruned.', { unit: 'days' }),
} as const;
