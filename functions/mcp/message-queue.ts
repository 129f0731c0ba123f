import type { JsonMembers } from '../kernel/json-kinds.ts';

/** Maximum of notifications that the client has not read. A further one replaces the last. */
const WAITING_MAX = 100;

/** The messages of one answer. The handler adds them, and the host sends them. */
export class MessageQueue {
  readonly #waiting: JsonMembers[] = [];
  #isEnded = false;
  #wake = Promise.withResolvers<void>();

  /** Whether a notification came before the end. */
  get hasBegun(): boolean {
    return this.#waiting.length > 0;
  }

  /** Settles with the first message. */
  get begun(): Promise<void> {
    return this.#wake.promise;
  }

  /** Adds a notification, or drops it if the queue has ended. */
  push(message: JsonMembers): void {
    if (this.#isEnded) return;
    if (this.#waiting.length >= WAITING_MAX) this.#waiting.pop();
    this.#waiting.push(message);
    this.#wake.resolve();
  }

  /** Adds the last message. */
  end(message: JsonMembers): void {
    this.#waiting.push(message);
    this.#isEnded = true;
    this.#wake.resolve();
  }

  async *messages(): AsyncGenerator<JsonMembers, void, undefined> {
    for (;;) {
      await this.#wake.promise;
      this.#wake = Promise.withResolvers<void>();
      yield* this.#waiting.splice(0);
      if (this.#isEnded && this.#waiting.length === 0) return;
    }
  }
}
