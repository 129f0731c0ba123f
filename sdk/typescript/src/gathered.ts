/** Bytes that arrive in pieces, in one buffer. A list would keep an object for each piece, however small the pieces are. */
export class GatheredBytes {
  #bytes = new Uint8Array(0);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(piece: Uint8Array): void {
    const size = this.#size + piece.length;
    if (size > this.#bytes.length) {
      // Twice as much each time, so that no byte is copied more than twice on average.
      const larger = new Uint8Array(Math.max(size, 2 * this.#bytes.length));
      larger.set(this.#bytes.subarray(0, this.#size));
      this.#bytes = larger;
    }
    this.#bytes.set(piece, this.#size);
    this.#size = size;
  }

  whole(): Uint8Array<ArrayBuffer> {
    return this.#bytes.subarray(0, this.#size);
  }
}
