import { sha256 } from '../../kernel/canonical-json.ts';
import type { ContextCitation } from './citations.ts';
import type { ContextChunk } from './context-chunks.ts';

export const CONTEXT_TEXT_FORMAT = 'citation-markdown';

export interface ContextText {
  readonly text: string;
  readonly hash: string;
}

/** The chunks and their citations as one text for a model, followed by the text of a graph. One chunk a step. */
export function* contextText(
  chunks: readonly ContextChunk[],
  citations: readonly ContextCitation[],
  graphText: string | null,
): Generator<void, ContextText> {
  const byRank = Map.groupBy(citations, ({ chunkRank }) => chunkRank);
  const lines = ['Context:'];
  for (const { rank, text } of chunks) {
    const ids = (byRank.get(rank) ?? []).map(({ id }) => id);
    const mark = ids.length === 0 ? `chunk:${rank}` : ids.join(', ');
    lines.push(`[${mark}] ${withoutLineSpace(text)}`, '');
    yield;
  }
  if (citations.length > 0) lines.push('Citations:', ...citations.map(citationLine));
  if (graphText !== null && graphText !== '') {
    // A chunk without citations already ends with a blank line.
    if (lines.at(-1) !== '') lines.push('');
    lines.push(graphText);
  }
  const text = lines.join('\n').trimEnd();
  return { text, hash: sha256(text) };
}

function citationLine({ id, sourceUri, sourceLabel, recordId }: ContextCitation): string {
  const uri = sourceUri === null || sourceUri === '' ? recordId : sourceUri;
  const label = sourceLabel === null || sourceLabel === '' ? '' : ` - ${sourceLabel}`;
  return oneLine(`[${id}] ${uri}${label} (record: ${recordId})`);
}

/** Removes line ends: a label with one could begin a line that looks like another citation. */
export function oneLine(text: string): string {
  return text.replaceAll(/[\r\n\u0085\u2028\u2029]/g, ' ');
}

/** The text with Unix line ends, without white space before them. */
function withoutLineSpace(text: string): string {
  const lines = text.replaceAll('\r\n', '\n').split('\n');
  return lines.map((line) => line.trimEnd()).join('\n');
}
