/** A fixed number of slots for runs. */
export class Slots {
  #free: number;
  readonly #all: number;
  #waiting: (() => void)[] = [];

  constructor(count: number) {
    this.#all = count;
    this.#free = count;
  }

  /** `false` if no slot is free. */
  take(): boolean {
    if (this.#free === 0) return false;
    this.#free -= 1;
    return true;
  }

  give(): void {
    this.#free += 1;
    for (const wake of this.#waiting.splice(0)) wake();
  }

  /** Waits for a free slot or for the signal. */
  async free(signal: AbortSignal): Promise<void> {
    while (this.#free === 0 && !signal.aborted) {
      await new Promise<void>((resolve) => {
        const done = () => {
          signal.removeEventListener('abort', done);
          resolve();
        };
        this.#waiting.push(done);
        signal.addEventListener('abort', done);
      });
    }
  }

  async allFree(): Promise<void> {
    while (this.#free < this.#all) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }
}
