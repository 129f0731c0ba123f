import { ProviderFailure } from '../../providers/failure.ts';

const TURN_MS = 60_000;

/** Waits without a worker until a moment, in milliseconds since 1970; the job is then executed again. */
export type WaitForTurn = (until: number) => Promise<unknown>;

/** Where the provider may not be called again in this minute, the job waits and goes on in its next turn. */
export async function inProviderTurns<Result>(
  work: () => Promise<Result>,
  now: () => number,
  wait: WaitForTurn,
): Promise<Result> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof ProviderFailure) || !error.isOfGuard || error.failureClass !== 'rate_limit')
        throw error;
      await wait(now() + (error.retryAfterMs ?? TURN_MS));
    }
  }
}
