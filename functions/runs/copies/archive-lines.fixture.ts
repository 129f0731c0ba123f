import type { RunsOf } from './archive-lines.ts';

export const ALL_RUNS: RunsOf = { tenantId: null, productId: null };
