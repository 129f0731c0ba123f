import { delay } from '../../kernel/world.ts';
import { StoreError } from '../port.ts';
import { type BatchReply, sendBatch } from './client.ts';
import { codeFailure, commitFailure, grpcCode } from './failures.ts';
import type { Session } from './session.ts';
import { assertFits } from './size.ts';
import type { PlannedWrite } from './writes.ts';

const batchWritesMax = 200;
const underWayMax = 4;
/** With pauses of 100 ms doubling up to 10 s: about a minute, time enough for a fresh range of keys to be split. */
const triesMax = 12;
const alreadyExists = 6;

/** Writes documents in bulk, each on its own, a bounded number of requests at a time. */
export class Loader {
  readonly #session: Session;
  readonly #underWay = new Set<Promise<void>>();
  #batch = new Map<string, PlannedWrite>();
  #bytes = 0;
  #failure: unknown;

  constructor(session: Session) {
    this.#session = session;
  }

  async add(writes: readonly PlannedWrite[]): Promise<void> {
    for (const write of writes) {
      this.assertLoaded();
      assertFits([write], this.#session.limits);
      if (this.#batch.has(write.path)) throw duplicate(write.path);
      const bytes = write.message + write.index;
      if (this.#batch.size >= batchWritesMax || this.#bytes + bytes > this.#bytesMax) await this.#flush();
      this.#batch.set(write.path, write);
      this.#bytes += bytes;
    }
  }

  /** Sends the rest and waits until every batch under way has succeeded or failed. */
  async settle(): Promise<void> {
    if (this.#failure === undefined) await this.#flush();
    while (this.#underWay.size > 0) await Promise.race(this.#underWay);
  }

  assertLoaded(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }

  get #bytesMax(): number {
    return Math.min(this.#session.limits.messageBytesMax, this.#session.limits.commitBytesMax) * 0.75;
  }

  async #flush(): Promise<void> {
    const writes = [...this.#batch.values()];
    this.#batch = new Map();
    this.#bytes = 0;
    if (writes.length === 0) return;
    while (this.#underWay.size >= underWayMax) await Promise.race(this.#underWay);
    const work: Promise<void> = this.#write(writes)
      .catch((error: unknown) => {
        this.#failure ??= error;
      })
      .finally(() => this.#underWay.delete(work));
    this.#underWay.add(work);
  }

  async #write(writes: readonly PlannedWrite[]): Promise<void> {
    let left = writes;
    let pauseMs = 100;
    for (let tries = 1; ; tries += 1) {
      const { failed, error } = await this.#send(left, tries > 1);
      if (failed.length === 0) return;
      if (tries >= triesMax) {
        throw new StoreError('unavailable', `Firestore did not take ${failed.length} writes`, {
          cause: error,
        });
      }
      left = failed;
      await delay(this.#session.timers, pauseMs);
      pauseMs = Math.min(10_000, pauseMs * 2);
    }
  }

  async #send(
    writes: readonly PlannedWrite[],
    again: boolean,
  ): Promise<{ failed: readonly PlannedWrite[]; error?: unknown }> {
    const batch = this.#session.db.batch();
    for (const write of writes) write.addTo(batch, this.#session.db);
    let reply: BatchReply;
    try {
      reply = await sendBatch(batch, 'batchWrite');
    } catch (error) {
      commitFailure(error);
      return { failed: writes, error };
    }
    const failed: PlannedWrite[] = [];
    let error: unknown;
    for (const [index, write] of writes.entries()) {
      const status = reply.status?.[index];
      const code = grpcCode(status) ?? 0;
      // A second try finds the document of the first one, whose answer was lost.
      if (code === 0 || (code === alreadyExists && again)) continue;
      if (code === alreadyExists) throw duplicate(write.path);
      codeFailure(code, status);
      failed.push(write);
      error = status;
    }
    return { failed, error };
  }
}

function duplicate(path: string): StoreError {
  return new StoreError('corrupt', `two records claim ${path}`);
}
