import { budgetedRetry, type RetryQuestion, TOKENS_MAX } from './retry.ts';
import { machine, type World } from './world.ts';

/** The number of servers whose tokens are kept. */
const SERVERS_MAX = 1_000;

/**
 * Settles an attempt with the budget of its server, which all clients of the world share. Returns the delay before the next
 * attempt; `null` if there is none. `question` is `null` after a success.
 */
export function settleAttempt(
  { retryTokens: kept = machine.retryTokens }: World,
  server: string,
  question: RetryQuestion | null,
): number | null {
  const [delay, tokens] = budgetedRetry(question, kept.get(server) ?? TOKENS_MAX);
  // A map keeps its order: the first server is the one unused for the longest. A full budget needs no entry.
  kept.delete(server);
  if (tokens < TOKENS_MAX) kept.set(server, tokens);
  const [oldest = server] = kept.keys();
  if (kept.size > SERVERS_MAX) kept.delete(oldest);
  return delay;
}
