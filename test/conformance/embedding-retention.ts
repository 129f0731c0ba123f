import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { machine } from '../../functions/compose/machine.ts';
import { embedTexts } from '../../functions/embeddings/embed-texts.ts';
import { removeOldVectors } from '../../functions/embeddings/retention.ts';
import { readEmbeddingRequest } from '../../functions/embeddings/rules/request.ts';
import { createEmbeddingParts } from '../../functions/embeddings/text-vectors.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { PaidModel } from '../support/paid-model.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** How long the vectors of a paid model are kept. */
export function describeEmbeddingRetention(store: () => RecordStore): void {
  test('vectors that were paid for go when they are old, in steps, and those of another space stay', async () => {
    const model = new PaidModel();
    let now = Date.UTC(2026, 0, 1);
    const clock = { now: () => now };
    const opened = () => Promise.resolve(store());
    const embedder = model.embedder({ ...machine, http: fetch }, { textsMax: 128 });
    const retentionOf = (retentionMs: number | null) => ({
      store: opened,
      clock,
      retentionMs,
      announced: new Map<string, number>(),
    });
    const embed = (space: string, texts: readonly string[], retentionMs: number | null) =>
      embedTexts(
        createEmbeddingParts({ store: opened, embedder, paid: { retention: retentionOf(retentionMs) } }),
        readEmbeddingRequest({ texts }),
        { space, signal: new AbortController().signal },
      );
    const sweep = () => removeOldVectors(retentionOf(DAY_MS), () => false);
    const [space, other] = [randomUUID(), randomUUID()];
    const old = Array.from({ length: 120 }, (_, at) => `old ${at}`);
    await embed(space, old, DAY_MS);
    await embed(other, ['old 0'], null);
    now += DAY_MS / 2;
    await embed(space, ['new'], DAY_MS);
    await sweep();
    now += DAY_MS / 2 + HOUR_MS;
    await sweep();
    await embed(space, ['old 0', 'old 119', 'new'], DAY_MS);
    await embed(other, ['old 0'], DAY_MS);
    expect(model.calls).toEqual([old, ['old 0'], ['new'], ['old 0', 'old 119']]);
    expect(await removeOldVectors(retentionOf(null), () => false)).toBe(0);
  });
}
