import { ProviderFailure } from '../../providers/failure.ts';

const TURN_MS = 60_000;
/** A job does not wait longer for a provider that fails: each of its turns may come behind another call of the space. */
const FAILING_MS_MAX = 3_600_000;

/** The job that waits for its turns. */
export interface TurnTaker {
  /** Waits without a worker until a moment, in milliseconds since 1970; the job is then executed again. */
  readonly wait: (until: number) => Promise<unknown>;
  /** When the job was admitted, as a timestamp. */
  readonly createdAt: string;
}

/** Where the provider may not be called now, the job waits and goes on in its next turn. */
export async function inProviderTurns<Result>(
  work: () => Promise<Result>,
  now: () => number,
  { wait, createdAt }: TurnTaker,
): Promise<Result> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const ageMs = now() - Date.parse(createdAt);
      if (!(error instanceof ProviderFailure) || !hasTurn(error, ageMs)) throw error;
      await wait(now() + (error.retryAfterMs ?? TURN_MS));
    }
  }
}

/** Whether the refusal is one of the service that ends with the minute, or with the rest of a provider that fails. */
function hasTurn({ isOfGuard, failureClass, providerStatus }: ProviderFailure, ageMs: number): boolean {
  if (providerStatus === 'circuit_open') return ageMs < FAILING_MS_MAX;
  return isOfGuard && failureClass === 'rate_limit';
}
