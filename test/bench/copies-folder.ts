import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ChunkSink, ChunkSource } from '../../functions/canonical/snapshot/archive.ts';

/** An archive as plain files of a folder that exists. */
export class ArchiveFolder implements ChunkSink, ChunkSource {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  write(name: string, content: Uint8Array): Promise<void> {
    return writeFile(join(this.#folder, name), content);
  }

  names(): Promise<string[]> {
    return readdir(this.#folder);
  }

  read(name: string): Promise<Uint8Array> {
    return readFile(join(this.#folder, name));
  }
}
