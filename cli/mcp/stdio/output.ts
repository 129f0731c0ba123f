export interface OutputOptions {
  /** Resolves once the client, or the system for it, has taken the line. */
  readonly write: (line: string) => Promise<void>;
  /** Bytes from which on the output is full. */
  readonly bytesMax: number;
}

/** The lines to the client, and how many of their bytes it has not taken yet. */
export class Output {
  readonly #options: OutputOptions;
  #waiting: { readonly bytes: number; readonly resolve: () => void }[] = [];
  #bytes = 0;

  constructor(options: OutputOptions) {
    this.#options = options;
  }

  get isFull(): boolean {
    return this.#bytes >= this.#options.bytesMax;
  }

  async write(line: string): Promise<void> {
    const bytes = Buffer.byteLength(line) + 1;
    this.#bytes += bytes;
    try {
      await this.#options.write(line);
    } finally {
      this.#bytes -= bytes;
      for (const { resolve } of this.#waiting.filter((each) => this.#bytes < each.bytes)) resolve();
      this.#waiting = this.#waiting.filter((each) => this.#bytes >= each.bytes);
    }
  }

  /** Resolves when the output is not full. */
  notFull(): Promise<void> {
    return this.#below(this.#options.bytesMax);
  }

  /** Resolves when each line is written. */
  settled(): Promise<void> {
    return this.#below(1);
  }

  #below(bytes: number): Promise<void> {
    if (this.#bytes < bytes) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push({ bytes, resolve }));
  }
}
