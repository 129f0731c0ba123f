import type { Settings } from '../config/table.ts';

/** The largest answer where no platform in front has a smaller bound. */
const ANSWER_BYTES_MAX = 64 * 1024 * 1024;
/** Reserved for the policy, the query and the headers of an answer; at most half of a small answer. */
const ENVELOPE_BYTES = 1024 * 1024;

/** Bytes of the records, or of the traces, of one answer. */
export function answerBytesMaxOf({ server }: Settings): number {
  const messageBytesMax = server.messageBytesMax ?? ANSWER_BYTES_MAX;
  return messageBytesMax - Math.min(ENVELOPE_BYTES, Math.floor(messageBytesMax / 2));
}
