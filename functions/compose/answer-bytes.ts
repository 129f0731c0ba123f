import type { Settings } from '../config/table.ts';

/** The largest answer where no platform in front has a smaller bound. */
const ANSWER_BYTES_MAX = 64 * 1024 * 1024;
/** What an answer holds beside its records: the policy, the query, and headers. Of a small answer it is at most half. */
const ENVELOPE_BYTES = 1024 * 1024;

/** Bytes of the records, or of the traces, of one answer. */
export function answerBytesMaxOf({ server }: Settings): number {
  const messageBytesMax = server.messageBytesMax ?? ANSWER_BYTES_MAX;
  return messageBytesMax - Math.min(ENVELOPE_BYTES, Math.floor(messageBytesMax / 2));
}
