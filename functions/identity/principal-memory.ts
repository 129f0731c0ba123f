import { hash } from 'node:crypto';

/** The headers that an authenticator read, by lower-case name; `undefined` for an absent header. */
export type ReadHeaders = ReadonlyMap<string, string | undefined>;

/**
 * Remembers the principal of each set of headers, to detect an authenticator that gives one set two principals. It keeps
 * hashes of the headers only, because credentials are among them.
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

  /** Whether the headers belong to `principal` or were not seen before. The memory keeps the first principal. */
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

/** Hashes the headers in the order of their names. JSON separates names from values, and an empty value from an absent one. */
function fingerprintOf(headers: ReadHeaders): string {
  const read = [...headers.keys()].sort().map((name) => [name, headers.get(name) ?? null]);
  return hash('sha256', JSON.stringify(read));
}
