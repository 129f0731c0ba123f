import type { RagContextEnvelope, SvcClient } from '../../sdk/typescript/src/index.ts';
import { COLLECTION } from './ingest.ts';
import { type ModelAnswer, runModel } from './model.ts';

export interface Answer {
  readonly question: string;
  readonly text: string;
  /** The citations that the text uses, by id, with what they name. */
  readonly cited: ReadonlyMap<string, string>;
  /** The evidence for the answer: the beginning of each chunk of the context. */
  readonly context: readonly string[];
  /** `null` where no model was asked. */
  readonly model: ModelAnswer | null;
}

const SHOWN = 70;

/** The question to the collection: by words and by vectors, a few chunks of a page at most. */
export function contextOf(question: string) {
  return {
    retrieval: {
      query: question,
      collections: [COLLECTION],
      searchMode: 'hybrid',
      embedding: { field: 'meaning' },
      hybrid: { vectorWeight: 0.3, lexicalWeight: 0.7 },
      filter: { path: '/type', op: 'eq', value: 'rag.chunk' },
      limit: 12,
    },
    maxChars: 4_000,
    maxCharsPerChunk: 900,
    contextAssembly: { groupBy: 'metadata' as const, groupByPath: 'documentId', defaultMaxChunksPerGroup: 2 },
  };
}

/** Answers a question from the documents: by the model of a provider, or with the sentence that says most of it. */
export async function answer(client: SvcClient, question: string, provider: string | null): Promise<Answer> {
  const prompt = await client.buildRagPrompt({ context: contextOf(question) });
  if (prompt.context.chunks.length === 0) throw new Error(`nothing is known about "${question}"`);
  if (provider === null) return grounded(prompt.context, bestSentence(prompt.context));
  const model = await runModel(client, provider, prompt);
  return { ...grounded(prompt.context, model.text), model };
}

/** Reads the citations from a text: only ids of the context count, and all other bracketed text is ignored. */
function grounded({ query, citations, chunks }: RagContextEnvelope, text: string): Answer {
  const known = new Map(
    citations.map(({ id, sourceUri, sourceLabel }) => [id, `${sourceUri} (${sourceLabel})`]),
  );
  const used = [...text.matchAll(/\[(c\d+(?:\.\d+)?)\]/g)].map(([, id = '']) => id);
  const cited = new Map(used.flatMap((id) => (known.has(id) ? [[id, known.get(id) ?? '']] : [])));
  const context = chunks.map(
    (chunk) => `[${chunk.citationIds?.join(', ')}] ${chunk.text.replace(/\s+/g, ' ').slice(0, SHOWN)} …`,
  );
  return { question: query, text, cited, context, model: null };
}

/**
 * The sentence of the context that shares most words with the question, rare ones first, with its citation: an answer without a
 * model.
 */
export function bestSentence({ query, chunks }: Pick<RagContextEnvelope, 'query' | 'chunks'>): string {
  const sentences = chunks.flatMap(({ text, citationIds }) =>
    sentencesOf(text).map((sentence) => ({ sentence, words: wordsOf(sentence), id: citationIds[0] ?? '' })),
  );
  const weights = new Map<string, number>();
  for (const word of wordsOf(query)) {
    const having = sentences.filter(({ words }) => words.has(word)).length;
    weights.set(word, Math.log(1 + sentences.length / (1 + having)));
  }
  let best = { text: '', score: -1 };
  for (const { sentence, words, id } of sentences) {
    const shared = [...weights].reduce((sum, [word, weight]) => sum + (words.has(word) ? weight : 0), 0);
    const score = shared / Math.sqrt(words.size + 6);
    if (score > best.score) best = { text: `${sentence} [${id}]`, score };
  }
  return best.text;
}

/** Sentences of prose: no code, no rows of tables, no headings. */
function sentencesOf(text: string): readonly string[] {
  const prose = text.split('\n').filter((line) => !/^[#|`]|^ {4}/.test(line));
  const sentences = prose.join(' ').split(/(?<=[.!?]) /);
  return sentences.map((sentence) => sentence.trim()).filter((sentence) => sentence.length > 20);
}

const common = new Set([
  'how',
  'what',
  'when',
  'where',
  'which',
  'does',
  'the',
  'and',
  'for',
  'are',
  'can',
  'its',
]);

function wordsOf(text: string): ReadonlySet<string> {
  const words = text.toLowerCase().match(/[\p{L}\p{N}_]{3,}/gu) ?? [];
  return new Set(words.filter((word) => !common.has(word)).map((word) => word.replace(/s$/, '')));
}
