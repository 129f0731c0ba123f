import type { JsonObject } from '../../kernel/canonical-json.ts';
import { isJsonList, isJsonObject } from '../../kernel/json-kinds.ts';
import type { ContextChunk } from './context-chunks.ts';
import type { ContextOptions } from './context-request.ts';

/** The origin of the text of a chunk. It is data beside the text: brackets inside a text are no citations. */
export interface ContextCitation {
  /** `c<rank>`, and with several sources `c<rank>.<n>`, from 1. */
  readonly id: string;
  readonly chunkRank: number;
  readonly collection: string;
  readonly partitionKey: string;
  readonly recordId: string;
  readonly sourceId: string | null;
  readonly sourceKind: string | null;
  readonly sourceUri: string | null;
  readonly sourceLabel: string | null;
  readonly sourceSpan: JsonObject | null;
  /** The part of the source in the excerpt, if the span has a start. */
  readonly includedSourceSpan: JsonObject | null;
  readonly contextCharStart: number;
  readonly contextCharEnd: number;
  readonly contextExcerptHash: string;
}

export interface Citations {
  readonly citations: readonly ContextCitation[];
  readonly omitted: number;
}

/** One citation for each source of each chunk, and one for a chunk without sources, up to the maximum of a chunk. */
export function citationsOf(
  chunks: readonly ContextChunk[],
  {
    includeCitations,
    maxCitationsPerChunk,
  }: Pick<ContextOptions, 'includeCitations' | 'maxCitationsPerChunk'>,
): Citations {
  if (!includeCitations) return { citations: [], omitted: 0 };
  const all = chunks.map(citationsOfChunk);
  const citations = all.flatMap((each) => each.slice(0, maxCitationsPerChunk ?? each.length));
  return { citations, omitted: all.flat().length - citations.length };
}

function citationsOfChunk(chunk: ContextChunk): readonly ContextCitation[] {
  const { sources } = chunk.match.record;
  const listed = isJsonList(sources) ? sources.filter(isJsonObject) : [];
  if (listed.length <= 1) return [citationOf(chunk, `c${chunk.rank}`, listed[0] ?? null)];
  return listed.map((source, at) => citationOf(chunk, `c${chunk.rank}.${at + 1}`, source));
}

function citationOf(chunk: ContextChunk, id: string, source: JsonObject | null): ContextCitation {
  const { rank, match, charEnd, excerptHash } = chunk;
  const span = source?.['span'] ?? null;
  const sourceSpan = isJsonObject(span) ? span : null;
  return {
    id,
    chunkRank: rank,
    collection: match.collection,
    partitionKey: match.record.partitionKey,
    recordId: match.record.id,
    sourceId: textIn(source, 'id'),
    sourceKind: textIn(source, 'kind'),
    sourceUri: textIn(source, 'uri'),
    sourceLabel: textIn(source, 'label'),
    sourceSpan,
    includedSourceSpan: includedSpan(sourceSpan, charEnd),
    contextCharStart: 0,
    contextCharEnd: charEnd,
    contextExcerptHash: excerptHash,
  };
}

function includedSpan(span: JsonObject | null, excerptEnd: number): JsonObject | null {
  const start = span?.['charStart'];
  if (span === null || typeof start !== 'number') return null;
  const last = span['charEnd'];
  const charEnd = Math.min(start + excerptEnd, typeof last === 'number' ? last : Infinity);
  return { ...span, charStart: start, charEnd };
}

function textIn(source: JsonObject | null, name: string): string | null {
  const value = source?.[name];
  return typeof value === 'string' ? value : null;
}
