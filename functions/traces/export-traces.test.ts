import { expect, test } from 'vitest';
import { canonicalJson, sha256 } from '../kernel/canonical-json.ts';
import { hashOf } from './export-traces.ts';
import type { Trace } from './trace.ts';

const traceOf = (at: number): Trace => ({
  id: `trace-${at}`,
  operation: 'provider.run',
  adapter: 'é\u2028"\\',
  startedAt: '2026-11-24T00:00:00Z',
  createdAt: '2026-11-24T00:00:00Z',
  durationMs: at / 3,
  request: { b: [1, { z: null, a: 'x' }], a: -0 },
  resultSummary: { status: 'Succeeded' },
});

test.each([0, 1, 2, 30])(
  'the hash of an export with %i traces is made in turns, and is that of its canonical JSON',
  async (count) => {
    const traces = Array.from({ length: count }, (_, at) => traceOf(at));
    const warnings = traces.map(({ id }) => ({
      traceId: id,
      location: '/request',
      reason: 'sensitive_field_name' as const,
    }));
    const counts = { traceCount: count, warningCount: count };
    const content = {
      formatVersion: 'svc.trace-export.v1',
      operation: null,
      limit: 100,
      ...counts,
      warnings,
      traces,
    };
    let turns = 0;
    const every = {
      due: () => true,
      next: async () => {
        turns += 1;
      },
    };
    expect(await hashOf(content, every)).toBe(sha256(canonicalJson(content)));
    expect(turns).toBe(2 * count);
  },
);
