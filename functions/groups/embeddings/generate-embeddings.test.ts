import { expect, test } from 'vitest';
import { builtInEmbedder } from '../../embeddings/built-in.ts';
import { embedTexts } from '../../embeddings/embed-texts.ts';
import { readEmbeddingRequest } from '../../embeddings/rules/request.ts';
import { JsonText } from '../../kernel/json-value-text.ts';
import type { TurnRoom } from '../../kernel/turn-room.ts';
import { generateEmbeddings } from './generate-embeddings.ts';
import type { EmbeddingLayers } from './jobs/job-view.ts';

test('writes an answer of many vectors in parts, and others have their turn between two', async () => {
  const { signal } = new AbortController();
  const embedder = builtInEmbedder('deterministic-hash', 1_000) ?? expect.fail('there is no such model');
  let asked = 0;
  const due = () => {
    asked += 1;
    return false;
  };
  const turns = { of: () => ({ due, next: () => Promise.resolve() }), pause: () => Promise.resolve() };
  const embeddings = { embedder, turns: turns as unknown as TurnRoom };
  const access = { spaceOf: () => 'space' };
  const handler = generateEmbeddings({ embeddings, access } as unknown as EmbeddingLayers);
  const body = { texts: Array.from({ length: 50 }, (_, n) => `text ${n}`) };
  const { status, body: answer } = await handler({ body } as never, { signal } as never);
  const parts = { embedder } as unknown as EmbeddingLayers['embeddings'];
  const plain = await embedTexts(parts, readEmbeddingRequest(body), { space: 'space', signal });
  expect([status, answer]).toEqual([200, new JsonText(JSON.stringify(plain))]);
  expect(asked).toBeGreaterThanOrEqual(50);
});
