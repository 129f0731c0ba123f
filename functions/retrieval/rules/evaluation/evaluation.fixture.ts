import { rerankMembers } from '../trace.ts';
import type { CaseAnswer, JudgedResult } from './case-result.ts';
import { judgedRecord } from './matching.ts';
import type { CaseRequest } from './request.ts';

const place = (id: string) => ({ collection: 'c', partitionKey: 'p', id });

/** A case that expects some ids, and has others as hard negatives. */
export function asked(expected: readonly string[], hardNegatives: readonly string[] = []): CaseRequest {
  return {
    name: 'case',
    request: { query: 'q', collections: ['c'] },
    expected: expected.map((id) => ({ id })),
    hardNegatives: hardNegatives.map((id) => ({ id, reason: 'near' })),
  };
}

/** An answer with these ids, the best first. */
export function answered(ids: readonly string[], k: number, own: Partial<CaseAnswer> = {}): CaseAnswer {
  const results: JudgedResult[] = ids.map((id, at) => ({
    record: judgedRecord(place(id), {}),
    score: 1 - at / 100,
    type: 'note',
    snippet: `text of ${id}`,
  }));
  const plain = {
    durationMs: 5,
    includeTopResults: true,
    vectorFields: [],
    rerankEnabled: false,
    rerank: rerankMembers(null),
  };
  return { k, results, ...plain, ...own };
}
