import type { EmbedCall, Embedder } from './embedder.ts';
import { splitBatches } from './rules/batches.ts';

/** Vectors by their texts. */
export type Vectors = ReadonlyMap<string, Float32Array>;

/** Calls the model batch by batch; `after` is awaited before the next call. */
export async function newVectors(
  embedder: Embedder,
  texts: readonly string[],
  call: EmbedCall,
  after: (done: Vectors, batch: readonly (readonly [string, Float32Array])[]) => Promise<void> | undefined,
): Promise<Vectors> {
  const done = new Map<string, Float32Array>();
  for (const batch of splitBatches(texts, embedder.batch)) {
    call.signal.throwIfAborted();
    const vectors = await embedder.embed(batch, call);
    const pairs = batch.map((text, at) => [text, vectors[at] ?? new Float32Array()] as const);
    for (const [text, vector] of pairs) done.set(text, vector);
    await after(done, pairs);
  }
  return done;
}
