import { hash } from 'node:crypto';
import { expect, test } from 'vitest';
import { runComparison, runEvaluation } from '../../functions/retrieval/evaluation/run-evaluation.ts';
import type { RetrievalRequest } from '../../functions/retrieval/rules/asked.ts';
import { readComparison, readEvaluation } from '../../functions/retrieval/rules/evaluation/request.ts';
import { type Note, RetrievalStage } from './retrieval-stage.ts';
import type { RetrievalConformance } from './retrieval-suite.ts';

/** SHA-256 of all answers below, the same on every provider. */
const ANSWERS = '72a9cb0b38080171d997f20727a797b1607e17d79668e537ea08c0f6d2c885f1';

const words = 'fox foxes river bank storm brown annual climate report 2026 the of'.split(' ');

/** Numbers that look random and are not. */
function sequence(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 1;
    return (state >>> 8) % below;
  };
}

/** Some notes have equal texts, so that their scores tie. */
function noteOf(collection: string, n: number): Note {
  const draw = sequence(n % 5 === 4 ? 77 : 1 + n * 31 + collection.length);
  const text = (count: number) =>
    Array.from({ length: 1 + draw(count) }, () => words[draw(words.length)] ?? '').join(' ');
  return {
    id: `n-${n}`,
    partitionKey: ['p', 'q'][n % 2] ?? 'p',
    text: text(12),
    title: text(3),
    year: 2020 + (n % 4),
  };
}

const collections = ['notes', 'books'];
const fields = [{ field: 'contentEmbedding', weight: 2 }, { field: 'titleEmbedding' }];
const requests: readonly Partial<RetrievalRequest>[] = [
  { query: 'climate report' },
  { query: '"annual report" river', lexical: { scoring: 'coverage', prefixMatching: true }, limit: 30 },
  { query: 'fox bank', embedding: {}, limit: 7 },
  { query: 'fox bank', vectorFields: fields, limit: 25 },
  { query: 'fox bank', vectorFields: [...fields].reverse(), minScore: 0.4 },
  { query: 'brown fox', searchMode: 'hybrid' },
  { query: 'brown fox', searchMode: 'hybrid', hybrid: { fusion: 'rrf', rrfK: 3 }, limit: 40 },
  { query: 'brown fox', searchMode: 'hybrid', vectorFields: fields, partitionKeys: ['q'] },
  { query: 'storm', searchMode: 'hybrid', filter: { path: '/metadata/year', op: 'gte', value: 2022 } },
  { query: 'river storm', rerank: { enabled: true, candidateLimit: 12, originalScoreWeight: 0.5 }, limit: 5 },
  { query: 'river storm', profile: 'rerankPolish' },
  { query: 'the annual', profile: 'discovery' },
  { query: 'none such word' },
];

const cases = requests.slice(0, 6).map((request, index) => ({
  name: `case ${index}`,
  request: { query: 'fox', collections, ...request },
  expected: [
    { id: `n-${index}`, relevance: 2 },
    { id: `n-${index + 5}`, collection: 'notes' },
  ],
  hardNegatives: [{ id: `n-${index + 1}`, reason: 'near' }],
}));
const variants = [
  { id: 'words', searchMode: 'lexical' },
  { id: 'hybrid', searchMode: 'hybrid', limit: 20 },
  { id: 'absent', collections: ['nowhere'] },
] as const;

export function describeRetrievalAnswers({ store }: RetrievalConformance): void {
  test('answers, evaluations and comparisons are the same bytes on every store', async () => {
    const stage = new RetrievalStage(store());
    for (const name of collections) {
      await stage.create(name);
      await stage.write(
        name,
        Array.from({ length: 30 }, (_, n) => noteOf(name, n)),
      );
    }
    const answers = hash('sha256', '');
    const all: string[] = [answers];
    for (const request of requests)
      for (const includeTrace of [false, true]) {
        const answer = await stage.retrieve({ collections, ...request, includeTrace });
        // The id of a trace is random.
        all.push(
          JSON.stringify(answer, (name, value: unknown) =>
            name === 'trace' && value !== null ? { ...value, id: 'trace' } : value,
          ),
        );
      }
    const call = { signal: new AbortController().signal };
    const evaluation = readEvaluation({ cases });
    all.push(JSON.stringify(await runEvaluation(stage.parts, stage.space, evaluation, call)));
    const comparison = readComparison({ cases, variants, includeCaseResults: true });
    all.push(JSON.stringify(await runComparison(stage.parts, stage.space, comparison, call)));
    expect(hash('sha256', all.join('\n'))).toBe(ANSWERS);
  }, 60_000);
}
