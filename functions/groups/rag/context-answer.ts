import { invalidMember } from '../../kernel/errors.ts';
import { JsonText } from '../../kernel/json-value-text.ts';
import { inTurns, type Turns } from '../../kernel/turns.ts';
import type { BuiltContext } from '../../rag/build-context.ts';
import { contextJson } from '../../rag/rules/context-json.ts';
import type { RetrievalParts } from '../../retrieval/parts.ts';

/** The JSON text of a context, written with turns for other calls. */
export function contextText(
  turns: Turns,
  { retrieval, options, chosen, cited, text, graph, trace }: BuiltContext,
): Promise<string> {
  const steps = contextJson({
    query: retrieval.query,
    searchMode: retrieval.mode,
    contentField: options.contentField,
    includeRecords: options.includeRecords,
    chunks: chosen.chunks,
    citations: cited.citations,
    omittedCitationCount: cited.omitted,
    totalChars: chosen.totalChars,
    text,
    graphContext: graph?.context ?? null,
    graphExpansion: graph?.summary ?? null,
    trace,
  });
  return inTurns(steps, turns);
}

/** The answer. Throws if it is too large for one message. */
export function answered({ records }: RetrievalParts, json: string): JsonText {
  const { answerBytesMax } = records.limits;
  if (Buffer.byteLength(json) <= answerBytesMax) return new JsonText(json);
  const detail = `the answer is larger than ${answerBytesMax} bytes: ask for fewer chunks or characters, or leave records out`;
  throw invalidMember('', detail, 'limit_exceeded');
}
