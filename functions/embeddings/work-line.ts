import { nextTurn } from '../kernel/turns.ts';

type Part = () => void;

/**
 * Long work of many calls in one process, part by part. Each turn of the event loop does the part of one call, however many
 * calls work, so that other requests wait for one part at most. Spaces take turns: one with many calls leaves the same share to
 * the others.
 */
export class WorkLine {
  /** The spaces in the order of their turns. */
  readonly #waiting = new Map<string, Part[]>();
  #isMoving = false;

  /** Settles when the call of the space may do its next part. */
  turn(space: string): Promise<void> {
    return new Promise((resolve) => {
      const parts = this.#waiting.get(space);
      if (parts === undefined) this.#waiting.set(space, [resolve]);
      else parts.push(resolve);
      if (!this.#isMoving) void this.#move();
    });
  }

  async #move(): Promise<void> {
    this.#isMoving = true;
    while (this.#waiting.size > 0) {
      await nextTurn();
      for (const [space, parts] of this.#waiting) {
        const part = parts.shift();
        this.#waiting.delete(space);
        if (parts.length > 0) this.#waiting.set(space, parts);
        part?.();
        break;
      }
    }
    this.#isMoving = false;
  }
}
