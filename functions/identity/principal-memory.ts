import { hash } from 'node:crypto';

/** What was read of a request, by lower-case header name; `undefined` for a header that was not there. */
export type ReadHeaders = ReadonlyMap<string, string | undefined>;

/**
 * Remembers whom which headers named, to notice an authenticator that does not answer the same question with the same
 * name. Only hashes of the headers are kept, because there are credentials among them.
 */
export class PrincipalMemory {
  // A Map keeps the order of insertion, so the first key is the least recently used.
  readonly #principals = new Map<string, string>();
  readonly #entriesMax: number;

  constructor(entriesMax = 1000) {
    this.#entriesMax = entriesMax;
  }

  get size(): number {
    return this.#principals.size;
  }

  /** Whether the headers named `principal` before, or nobody yet. Who was named first stays. */
  agrees(headers: ReadHeaders, principal: string): boolean {
    const fingerprint = fingerprintOf(headers);
    const first = this.#principals.get(fingerprint) ?? principal;
    this.#principals.delete(fingerprint);
    this.#principals.set(fingerprint, first);
    for (const oldest of this.#principals.keys()) {
      if (this.#principals.size <= this.#entriesMax) break;
      this.#principals.delete(oldest);
    }
    return first === principal;
  }
}

/** Independent of the order in which the headers were read. JSON keeps a name apart from a value, and `""` from nothing. */
function fingerprintOf(headers: ReadHeaders): string {
  const read = [...headers.keys()].sort().map((name) => [name, headers.get(name) ?? null]);
  return hash('sha256', JSON.stringify(read));
}
