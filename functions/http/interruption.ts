/**
 * Lets one wait at a time end early. A race of each chunk against one long-lived promise would keep every chunk in memory
 * until that promise settles.
 */
export class Interruption {
  #reason: { readonly error: unknown } | null = null;
  #reject: ((error: unknown) => void) | null = null;

  /** Rejects the current wait and every later one. */
  interrupt(error: unknown): void {
    this.#reason ??= { error };
    this.#reject?.(this.#reason.error);
  }

  /** Settles with the action, or rejects when it is interrupted first. Call it again only after it has settled. */
  async wait<T>(action: Promise<T>): Promise<T> {
    try {
      return await new Promise<T>((resolve, reject) => {
        this.#reject = reject;
        action.then(resolve, reject);
        if (this.#reason !== null) reject(this.#reason.error);
      });
    } finally {
      this.#reject = null;
    }
  }
}
