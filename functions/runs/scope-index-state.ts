/** The time for which a process relies on the state that it has read. */
const KNOWN_MS = 1_000;

/** The state of the index by scope, as this process knows it. It makes one read of the store at a time. */
export class ScopeIndexState {
  #wholeAt: number | undefined;
  #look: Promise<boolean> | undefined;

  /** `look` resolves to whether the index has every run. It must not fail. */
  async isWhole(now: number, look: () => Promise<boolean>): Promise<boolean> {
    if (this.#wholeAt !== undefined && Math.abs(now - this.#wholeAt) < KNOWN_MS) return true;
    this.#look ??= look().finally(() => {
      this.#look = undefined;
    });
    const whole = await this.#look;
    this.#wholeAt = whole ? now : undefined;
    return whole;
  }
}
