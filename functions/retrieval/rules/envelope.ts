import type { JsonObject } from '../../kernel/canonical-json.ts';

/** A result in the envelope. */
export interface EnvelopeResult {
  readonly rank: number;
  readonly score: number;
  readonly snippet: string;
  readonly diagnostics: JsonObject | null;
  readonly record: { readonly collection: string; readonly json: string };
}

/**
 * The JSON text of an answer. It includes the stored texts of records without parsing them, so a number of a record keeps all
 * its digits. Without a trace the answer has no diagnostics.
 */
export function envelopeJson(
  query: string,
  results: readonly EnvelopeResult[],
  trace: JsonObject | null,
): string {
  const texts = results.map(({ rank, score, snippet, diagnostics, record }) => {
    const own = `"rank":${rank},"score":${JSON.stringify(score)},"collection":${JSON.stringify(record.collection)}`;
    const shown = `"snippet":${JSON.stringify(snippet)},"record":${record.json}`;
    return `{${own},${shown},"diagnostics":${JSON.stringify(diagnostics)}}`;
  });
  return `{"query":${JSON.stringify(query)},"results":[${texts.join(',')}],"trace":${JSON.stringify(trace)}}`;
}
