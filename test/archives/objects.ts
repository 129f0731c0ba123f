import { createHash } from 'node:crypto';
import type { ChunkSink, ChunkSource } from '../../functions/groups/canonical/copies/snapshot/archive.ts';

/** An archive in memory, as a test keeps it, compares it and hands it on to another process. */
export class Objects implements ChunkSink, ChunkSource {
  readonly #objects: Map<string, Uint8Array>;

  constructor(objects: Iterable<readonly [string, Uint8Array]> = []) {
    this.#objects = new Map(objects);
  }

  async write(name: string, content: Uint8Array): Promise<void> {
    this.#objects.set(name, content);
  }

  async names(): Promise<readonly string[]> {
    return [...this.#objects.keys()];
  }

  async read(name: string): Promise<Uint8Array | null> {
    return this.#objects.get(name) ?? null;
  }

  entries(): [string, Uint8Array][] {
    return [...this.#objects];
  }

  /** Two archives are the same, byte for byte, where these are equal. */
  get digests(): Readonly<Record<string, string>> {
    return Object.fromEntries(
      this.entries().map(([name, bytes]) => [name, createHash('sha256').update(bytes).digest('hex')]),
    );
  }
}
