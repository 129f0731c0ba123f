import type { ChunkSink, ChunkSource } from '../../../../archives/chunk-objects.ts';

/** A small archive in memory. Preflight writes and restores it. */
export class MemoryArchive implements ChunkSink, ChunkSource {
  readonly #objects = new Map<string, Uint8Array>();

  async write(name: string, content: Uint8Array): Promise<void> {
    this.#objects.set(name, content);
  }

  async names(): Promise<readonly string[]> {
    return [...this.#objects.keys()];
  }

  async read(name: string): Promise<Uint8Array | null> {
    return this.#objects.get(name) ?? null;
  }
}
