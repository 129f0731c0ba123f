import type { RecordParts } from '../collections/parts.ts';
import { collectionMissing, readCollection } from '../collections/read-policy.ts';
import { etagOf } from '../collections/rules/record-stamp.ts';
import { invalidMember, ServiceError } from '../kernel/errors.ts';
import { inTurns } from '../kernel/turns.ts';
import { ChunkVectors, type VectorsCall } from './chunk-vectors.ts';
import type { BegunPlan, IngestProgress } from './ingest-progress.ts';
import { keptRecords, type PlanWrite, planWrites } from './plan-writes.ts';
import { readStored } from './read-stored.ts';
import { cutDocument, type DocumentChunk } from './rules/cut-document.ts';
import type { IngestDocument } from './rules/ingest-document.ts';
import { unpackPlan } from './rules/packed-plan.ts';
import { type IngestPlan, planAsDone, planIngestion } from './rules/plan.ts';
import { RequestRecords } from './rules/plan-chunks.ts';
import { checkRecordSizes } from './rules/record-sizes.ts';
import { storedChunks } from './rules/stored-chunks.ts';
import { type WriteOptions, type WrittenPlan, type WrittenStamp, writePlan } from './write-plan.ts';

/** Tries of a plan: other calls may change the document between plan and commit. */
const TRIES_MAX = 8;

export interface IngestOptions extends Pick<WriteOptions, 'signal'>, VectorsCall {
  /** The records of earlier documents of the request. */
  readonly known?: RequestRecords;
  /** The most chunks of the document; default: the limit of every document. */
  readonly chunksMax?: number;
  /** The JSON Pointer of the document in the request. */
  readonly pointer?: string;
  /** The progress of a job, which may be executed again; without it, a second call writes a second time. */
  readonly progress?: IngestProgress;
  /** Called before the first write. Throws if the job has been cancelled. */
  readonly decide?: () => Promise<void>;
}

export interface Ingested {
  readonly plan: IngestPlan;
  /** `null` for a dry run. */
  readonly written: WrittenPlan | null;
}

/**
 * Cuts a document, plans it against the collection, embeds chunks without a vector and writes the plan. No text is embedded twice,
 * also if another call makes a new plan necessary. With the progress of a job it continues where an earlier execution ended. Throws
 * `store_contention` if other calls change the document again and again.
 */
export async function ingestDocument(
  parts: RecordParts,
  space: string,
  document: IngestDocument,
  options: IngestOptions,
): Promise<Ingested> {
  const { chunksMax = Infinity, pointer = '' } = options;
  const chunks = await inTurns(cutDocument(document, pointer), parts.world.turns.of(space));
  if (chunks.length > chunksMax)
    throw invalidMember(
      pointer,
      `makes ${chunks.length} chunks, and its request has room for ${chunksMax}`,
      'limit_exceeded',
    );
  const call = new IngestCall(parts, space, document, { chunks, options });
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    options.signal?.throwIfAborted();
    const begun = document.options.dryRun ? null : await options.progress?.read();
    const done = (begun ? await call.goOn(begun) : null) ?? (await call.planAndWrite());
    if (done !== null) return done;
  }
  throw new ServiceError(
    'store_contention',
    'Other calls change the document again and again: try again later.',
  );
}

class IngestCall {
  readonly #parts: RecordParts;
  readonly #space: string;
  readonly #document: IngestDocument;
  readonly #chunks: readonly DocumentChunk[];
  readonly #options: IngestOptions;
  readonly #vectors: ChunkVectors;

  constructor(
    parts: RecordParts,
    space: string,
    document: IngestDocument,
    own: { readonly chunks: readonly DocumentChunk[]; readonly options: IngestOptions },
  ) {
    this.#parts = parts;
    this.#space = space;
    this.#document = document;
    this.#chunks = own.chunks;
    this.#options = own.options;
    this.#vectors = new ChunkVectors(parts, space, document, own.options);
  }

  /** `null`: the collection has changed, so a new plan is necessary. */
  async planAndWrite(): Promise<Ingested | null> {
    const [parts, document] = [this.#parts, this.#document];
    const { known: shared, progress, decide } = this.#options;
    const { collection, stored } = await readStored(
      parts,
      this.#space,
      document,
      this.#chunks,
      this.#options,
    );
    const known = (shared ?? new RequestRecords()).copy();
    const plan = await this.#inTurns(
      planIngestion(document, this.#chunks, stored, known, this.#options.pointer),
    );
    await this.#inTurns(checkRecordSizes(plan, this.#options.pointer));
    if (!document.options.dryRun) {
      if (!(await this.#vectors.complete(plan.chunks))) return null;
      await decide?.();
      const ledger = await progress?.ledger(collection, plan);
      const kept = keptRecords(plan, stored);
      const options = { ...this.#options, kept, ...(ledger === undefined ? {} : { ledger }) };
      const writes = this.#writesOf(plan, stored);
      const written = await writePlan(parts, this.#space, collection, writes, options);
      if (written === null) return null;
      shared?.take(known);
      return this.#done(plan, writes, written);
    }
    shared?.take(known);
    return { plan, written: null };
  }

  /** `null`: the collection of the started plan no longer exists, so a new plan is necessary. */
  async goOn(begun: BegunPlan): Promise<Ingested | null> {
    const collection = await readCollection(this.#parts, this.#space, this.#document.collection);
    if (collection === null) throw collectionMissing(this.#document.collection);
    if (collection.incarnation !== begun.incarnation) return null;
    const plan = await this.#inTurns(unpackPlan(this.#document, this.#chunks, begun.plan));
    const writes = this.#writesOf(plan, storedChunks([], []));
    const before = stampsOf(writes.slice(0, begun.next), begun.revisions);
    const left = new Set(writes.slice(begun.next).map(({ key }) => key.id));
    await this.#vectors.completeRest(plan.chunks.filter(({ id }) => left.has(id)));
    const ledger = await this.#options.progress?.ledger(collection, plan);
    const options = { ...this.#options, from: begun.next, ...(ledger === undefined ? {} : { ledger }) };
    const rest = await writePlan(this.#parts, this.#space, collection, writes, options);
    if (rest === null) return null;
    if (this.#options.known !== undefined) await this.#inTurns(this.#options.known.remember(plan));
    return this.#done(plan, writes, {
      whole: false,
      stamps: [...before, ...rest.stamps],
      spared: [...begun.spared, ...rest.spared],
    });
  }

  /** The answer reports the actual writes: other calls may change records between the transactions of a large plan. */
  async #done(plan: IngestPlan, writes: readonly PlanWrite[], written: WrittenPlan): Promise<Ingested> {
    const revisions = new Map(written.stamps.map(({ id, revision }) => [id, revision]));
    const spared = new Set(written.spared.map((at) => writes[at]?.key.id ?? ''));
    return { plan: await this.#inTurns(planAsDone(plan, { revisions, spared })), written };
  }

  #writesOf(plan: IngestPlan, stored: Parameters<typeof planWrites>[1]): readonly PlanWrite[] {
    return planWrites(plan, stored, (hash) => this.#vectors.get(hash));
  }

  #inTurns<Result>(steps: Generator<void, Result>): Promise<Result> {
    return inTurns(steps, this.#parts.world.turns.of(this.#space));
  }
}

/** The stamps of the finished writes: removals have none. */
function stampsOf(done: readonly PlanWrite[], revisions: readonly number[]): readonly WrittenStamp[] {
  const puts = done.filter(({ text }) => text !== null);
  return puts.map(({ key }, at) => {
    const revision = revisions[at] ?? 0;
    return { id: key.id, etag: etagOf(revision), revision };
  });
}
