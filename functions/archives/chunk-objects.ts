/** Where an archive is written: files, memory, a connection. */
export interface ChunkSink {
  /** Keeps `content` under `name`. Settles when the sink accepts the next object. */
  write(name: string, content: Uint8Array): Promise<void>;
}

/** Where an archive is read from. */
export interface ChunkSource {
  /** The names of all objects of the archive, in any order. */
  names(): Promise<readonly string[]>;
  /** Returns the object, or `null` if the archive has none of that name. May throw if it has more than `bytesMax` bytes. */
  read(name: string, bytesMax: number): Promise<Uint8Array | null>;
}
