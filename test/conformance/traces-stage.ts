import { randomUUID } from 'node:crypto';
import type { RecordStore } from '../../functions/store/port.ts';
import { createTraceParts, type TraceLimits, type TraceParts } from '../../functions/traces/parts.ts';
import { newTraceId, type TraceDraft, writeTrace } from '../../functions/traces/write-trace.ts';
import { ManualWorld } from '../support/manual-world.ts';

const limits: TraceLimits = { readsPerCallMax: 5_000, answerBytesMax: 10_000_000, retentionMs: null };

/** One process that writes and reads the traces of a space of its own. */
export class TracesStage {
  readonly space: string;
  readonly world = new ManualWorld();
  readonly parts: TraceParts;

  constructor(store: RecordStore, own: Partial<TraceLimits> = {}, space = `space ${randomUUID()}`) {
    this.space = space;
    this.parts = createTraceParts({
      store: () => Promise.resolve(store),
      world: this.world,
      limits: { ...limits, ...own },
    });
  }

  /** Writes a trace a millisecond after the one before and answers its id. */
  async write(own: Partial<TraceDraft> = {}): Promise<string> {
    this.world.advance(1);
    const draft: TraceDraft = {
      id: newTraceId(this.world.random),
      operation: 'provider.run',
      adapter: 'deterministic',
      request: { provider: 'local', capability: 'ai.chat' },
      resultSummary: { status: 'Succeeded' },
      startedAt: this.world.now,
      durationMs: 5,
      ...own,
    };
    await writeTrace(this.parts, this.space, draft);
    return draft.id;
  }

  async writeMany(count: number, own: Partial<TraceDraft> = {}): Promise<string[]> {
    const ids: string[] = [];
    for (let written = 0; written < count; written += 1) ids.push(await this.write(own));
    return ids;
  }
}
