/** What this process knows of the index by scope. One step is under way at a time, and none after the last. */
export class ScopeIndexState {
  #done = false;
  #step: Promise<boolean> | undefined;

  /** `step` resolves to whether it was the last one. It must not fail. */
  async isComplete(step: () => Promise<boolean>): Promise<boolean> {
    if (this.#done) return true;
    this.#step ??= step().finally(() => {
      this.#step = undefined;
    });
    this.#done = await this.#step;
    return this.#done;
  }
}
