import type { WaitingPlace } from './waiting-places.ts';
import type { Timers } from './world.ts';

/**
 * A call that looks for data, waits, and looks again when it is woken. A wake during a look is kept, so that the call does not
 * miss data that arrives after its look.
 */
export class WaitingCall {
  readonly #signal: AbortSignal;
  readonly #place: WaitingPlace | null;
  readonly #cancelDeadline: () => void;
  readonly #resume = (): void => {
    const resume = this.#idle;
    this.#idle = null;
    resume?.();
  };
  #idle: (() => void) | null = null;
  #expired: boolean;
  #owesLook = false;

  /** The call waits up to `waitMs`, or until `signal` is aborted; without a place it does not wait. It leaves the place at its end. */
  constructor(timers: Timers, waitMs: number, signal: AbortSignal, place: WaitingPlace | null) {
    this.#signal = signal;
    this.#place = place;
    this.#expired = waitMs <= 0 || place === null;
    this.#cancelDeadline = this.#expired ? () => undefined : timers.after(waitMs, () => this.expire());
    signal.addEventListener('abort', this.#resume);
  }

  /** Whether the call was woken and has not looked since. */
  get owesLook(): boolean {
    return this.#owesLook;
  }

  /** Whether the time is over or the caller has left. */
  get isOver(): boolean {
    return this.#expired || this.#signal.aborted;
  }

  /** Wakes the call if it waits. While it looks, returns `false` and has no effect. */
  wakeIfIdle(): boolean {
    return this.#idle !== null && this.lookAgain();
  }

  /** Makes the call look once more, also if it looks already. Returns true if the call was waiting. */
  lookAgain(): boolean {
    const wasIdle = this.#idle !== null;
    this.#owesLook = true;
    this.#resume();
    return wasIdle;
  }

  /** Resolves with `true` when another look is worthwhile, and with `false` when the time is over or the caller has left. */
  async next(): Promise<boolean> {
    if (!this.#owesLook && !this.isOver) {
      await new Promise<void>((resolve) => {
        this.#idle = resolve;
      });
    }
    if (this.isOver) return false;
    this.#owesLook = false;
    return true;
  }

  /** Ends the waiting time now. */
  expire(): void {
    this.#expired = true;
    this.#resume();
  }

  /** Releases the place, the timer and the signal. */
  close(): void {
    this.#place?.leave();
    this.#cancelDeadline();
    this.#signal.removeEventListener('abort', this.#resume);
  }
}
