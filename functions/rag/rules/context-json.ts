import type { JsonObject } from '../../kernel/canonical-json.ts';
import { membersOf } from '../../kernel/json-slices.ts';
import type { ContextCitation } from './citations.ts';
import type { ContextChunk } from './context-chunks.ts';
import type { ContextMatch } from './context-match.ts';
import { CONTEXT_TEXT_FORMAT, type ContextText } from './context-text.ts';

/** A match with its members in the answer. */
interface ShownMatch extends ContextMatch {
  readonly found: {
    readonly snippet: string;
    readonly diagnostics: JsonObject | null;
    /** The stored text of the record. */
    readonly record: { readonly json: string };
  };
}

export interface ShownContext {
  readonly query: string;
  readonly searchMode: string;
  readonly contentField: string;
  readonly includeRecords: boolean;
  readonly chunks: readonly ContextChunk<ShownMatch>[];
  readonly citations: readonly ContextCitation[];
  readonly omittedCitationCount: number;
  readonly totalChars: number;
  readonly text: ContextText | null;
  readonly graphContext: object | null;
  readonly graphExpansion: object | null;
  readonly trace: object | null;
}

/**
 * The JSON text of a context, one chunk a step. It includes the stored texts of records, so their numbers keep all digits.
 */
export function* contextJson(context: ShownContext): Generator<void, string> {
  const { query, chunks, citations, totalChars, omittedCitationCount, text, trace } = context;
  const byRank = Map.groupBy(citations, ({ chunkRank }) => chunkRank);
  const shown: string[] = [];
  for (const chunk of chunks) {
    const ids = (byRank.get(chunk.rank) ?? []).map(({ id }) => id);
    shown.push(chunkJson(context, chunk, ids));
    yield;
  }
  const first = `"query":${JSON.stringify(query)},"chunks":[${shown.join(',')}]`;
  const rest = {
    citations,
    totalChars,
    omittedCitationCount,
    contextText: text?.text ?? null,
    contextTextFormat: text === null ? null : CONTEXT_TEXT_FORMAT,
    contextTextHash: text?.hash ?? null,
    graphContext: context.graphContext,
    trace,
    graphExpansion: context.graphExpansion,
  };
  return `{${first},${JSON.stringify(rest).slice(1)}`;
}

function chunkJson(
  { contentField, searchMode, includeRecords }: ShownContext,
  chunk: ContextChunk<ShownMatch>,
  citationIds: readonly string[],
): string {
  const { match, groupKey, charEnd, originalTextLength, truncated } = chunk;
  const { found, record, score, collection } = match;
  const own = {
    rank: chunk.rank,
    score,
    collection,
    partitionKey: record.partitionKey,
    id: record.id,
    text: chunk.text,
    contentField,
    groupKey,
    charStart: 0,
    charEnd,
    originalTextLength,
    truncated,
    contextExcerptHash: chunk.excerptHash,
    citationIds,
    retrievalDiagnostics: found.diagnostics,
    retrievalMatch: { rank: match.rank, score, collection, searchMode, snippet: found.snippet },
  };
  const stored = new Map(membersOf(found.record.json).map(({ name, value }) => [name, value]));
  const metadata = stored.get('metadata') ?? 'null';
  const sources = stored.get('sources') ?? 'null';
  const whole = includeRecords ? found.record.json : 'null';
  return `${JSON.stringify(own).slice(0, -1)},"metadata":${metadata},"sources":${sources},"record":${whole}}`;
}
