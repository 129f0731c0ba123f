import type { BulkOptions } from '../bulk/options.ts';

export interface RerunOptions extends BulkOptions {
  readonly from?: string;
  readonly payload?: string;
  readonly idempotencyKey?: string;
  readonly force?: true;
}
