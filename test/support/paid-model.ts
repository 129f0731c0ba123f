import type { Embedder } from '../../functions/embeddings/embedder.ts';
import { openAiEmbedder } from '../../functions/embeddings/openai-embedder.ts';
import type { OutgoingHttp, World } from '../../functions/kernel/world.ts';

type Reply = (texts: readonly string[]) => unknown;

const SIZE = 4;

/** A vector that only this text has. */
export function vectorOf(text: string): number[] {
  const code = Buffer.from(text).reduce((sum, byte) => (sum * 31 + byte) % 65_521, 7);
  return [code, code / 2, text.length, -1];
}

export function vectorsAnswer(vectors: readonly unknown[]): unknown {
  return { data: vectors.map((embedding, index) => ({ index, embedding })) };
}

/** A paid model behind the embeddings operation that many servers have. It counts its requests. */
export class PaidModel {
  /** The texts of each call. */
  readonly calls: string[][] = [];
  /** A test may replace it. */
  reply: Reply = (texts) => vectorsAnswer(texts.map(vectorOf));
  /** Settles before each answer. */
  gate: () => Promise<void> = () => Promise.resolve();
  readonly #http: OutgoingHttp = async (_, init = {}) => {
    const { input } = JSON.parse(init.body as string) as { input: string[] };
    this.calls.push(input);
    await this.gate();
    const headers = { 'content-type': 'application/json' };
    return new Response(JSON.stringify(this.reply(input)), { headers });
  };

  /** How often each text was paid for. */
  get paid(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const text of this.calls.flat()) counts.set(text, (counts.get(text) ?? 0) + 1);
    return counts;
  }

  /** The embedder over this model, with calls of at most `textsMax` texts. */
  embedder(world: World, { textsMax = 2, dimensions = SIZE } = {}): Embedder {
    const model = openAiEmbedder(
      { ...world, http: this.#http },
      {
        provider: 'paid',
        baseAddress: 'https://model.test/v1',
        modelId: 'm',
        dimensions,
        sendsDimensions: false,
        prefixes: { query: null, passage: null, symmetric: null },
        apiKey: () => Promise.resolve('k'),
        timeoutMs: 60_000,
      },
    );
    return { ...model, batch: { ...model.batch, textsMax } };
  }
}
