import { createCollection, removeCollection } from '../../functions/collections/pointers.ts';
import { queryRecords } from '../../functions/collections/query-records.ts';
import { getRecord } from '../../functions/collections/read-record.ts';
import { sweepRetired } from '../../functions/collections/retired.ts';
import { readPolicy } from '../../functions/collections/rules/policy.ts';
import type { WritePrecondition } from '../../functions/collections/rules/record-write.ts';
import { searchRecords } from '../../functions/collections/search-records.ts';
import { deleteRecord, upsertRecord } from '../../functions/collections/write-records.ts';
import { parseJson } from '../../functions/kernel/json-text.ts';
import { type RecordsCluster, SPACE } from './records-cluster.ts';
import type { Load, RecordsJobs } from './records-jobs.ts';
import {
  type Held,
  heldInText,
  nameOfKey,
  type RecordsModel,
  shownAs,
  type Window,
} from './records-model.ts';
import { Process } from './scheduler.ts';
import { must } from './violation.ts';

const NAMES = ['documents', 'notes'] as const;
const KEYS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
const KINDS = ['red', 'green'];

function policyOf(name: string) {
  return readPolicy({ name, indexedMetadata: ['/metadata/kind'] });
}

/** Calls that may be under way, by what they remove. */
export class OpenCalls {
  readonly #open = new Map<string, number>();

  begin(what: string): () => void {
    this.#open.set(what, (this.#open.get(what) ?? 0) + 1);
    return () => this.#open.set(what, (this.#open.get(what) ?? 0) - 1);
  }

  has(what: string): boolean {
    return (this.#open.get(what) ?? 0) > 0;
  }
}

export interface RecordsStage {
  readonly cluster: RecordsCluster;
  readonly model: RecordsModel;
  readonly jobs: RecordsJobs;
  readonly open: OpenCalls;
  readonly reached: Set<string>;
  readonly forgetsRuns: boolean;
  /** Whether clients also search; runs without searches stay as they are. */
  readonly searches: boolean;
}

/** Writes, reads and changes collections, one call after the other, and judges each answer. */
export class RecordsClient {
  readonly #stage: RecordsStage;
  readonly #process: Process;
  #marks = 0;

  constructor(stage: RecordsStage, name: string) {
    this.#stage = stage;
    this.#process = new Process(name);
  }

  async use(turns: number, pauseMsMax: number): Promise<void> {
    const { scheduler } = this.#stage.cluster;
    const { random } = scheduler;
    for (let turn = 0; turn < turns; turn += 1) {
      await scheduler.sleep(this.#process, random.below(random.chance(0.05) ? 200_000 : pauseMsMax));
      const name = random.pick(NAMES);
      const drawn = random.next();
      if (drawn < 0.3) await this.#upsert(name);
      else if (drawn < 0.4) await this.#delete(name);
      else if (drawn < 0.5) await this.#get(name);
      else if (drawn < 0.6 && this.#stage.searches) await this.#search(name);
      else if (drawn < 0.75) await this.#query(name);
      else if (drawn < 0.85) await this.#create(name);
      else if (drawn < 0.9) await this.#remove(name);
      else this.#admit(name);
    }
  }

  /** Reads every name once all calls have ended. */
  async lookAtAll(): Promise<void> {
    for (const name of NAMES) {
      await this.#query(name);
      if (this.#stage.searches) await this.#search(name);
    }
  }

  #mark(): string {
    this.#marks += 1;
    return `${this.#process.name}.${this.#marks}`;
  }

  #text(marker: string, id: string): string {
    const { random } = this.#stage.cluster.scheduler;
    const metadata = { kind: random.pick(KINDS), marker };
    return JSON.stringify({ id, partitionKey: `p${KEYS.indexOf(id) % 2}`, type: 'note', metadata });
  }

  #window(from: number): Window {
    return { from, to: this.#stage.model.version };
  }

  async #upsert(name: string): Promise<void> {
    const { cluster, model, reached } = this.#stage;
    const { random } = cluster.scheduler;
    const marker = this.#mark();
    const text = this.#text(marker, random.pick(KEYS));
    const conditions: readonly (WritePrecondition | null)[] = [
      null,
      { ifNoneMatch: '*' },
      { ifMatch: '*' },
      { expectedRevision: 1 + random.below(3) },
    ];
    const condition = random.pick(conditions);
    const from = model.version;
    const outcome = await cluster.call(this.#process, (parts) =>
      upsertRecord(parts, SPACE, name, text, condition),
    );
    if (outcome.kind === 'unknown') return;
    const window = this.#window(from);
    if (outcome.kind === 'answer') {
      const { revision } = outcome.value.stamp;
      model.upserted(name, window, marker, revision);
      must(isMet(condition, revision - 1), 'answer', `${marker} was written against its condition`);
      reached.add(condition === null ? 'upserted' : 'upserted on a condition');
      return;
    }
    must(!model.wasWritten(marker), 'answer', `${marker} was refused and written`);
    reached.add(outcome.code);
    if (outcome.code === 'collection_not_found') return model.absent(name, window);
    must(outcome.code === 'precondition_failed', 'answer', `an upsert was refused with ${outcome.code}`);
    const key = nameOfKey(heldInText(text));
    model.recordWas(name, key, window, (held) => !isMet(condition, held?.revision ?? 0), 'a refusal');
  }

  async #delete(name: string): Promise<void> {
    const { cluster, model, open, reached } = this.#stage;
    const { partitionKey, id } = heldInText(this.#text('none', cluster.scheduler.random.pick(KEYS)));
    const key = nameOfKey({ partitionKey, id });
    const from = model.version;
    const ended = open.begin(`${name} ${key}`);
    const call = (parts: Parameters<typeof deleteRecord>[0]) =>
      deleteRecord(parts, SPACE, name, { partitionKey, id });
    const outcome = await cluster.call(this.#process, call, ended);
    if (outcome.kind === 'unknown') return;
    must(outcome.kind === 'answer', 'answer', 'a delete was refused');
    reached.add('deleted');
    model.gone(name, key, this.#window(from));
  }

  async #get(name: string): Promise<void> {
    const { cluster, model } = this.#stage;
    const { partitionKey, id } = heldInText(this.#text('none', cluster.scheduler.random.pick(KEYS)));
    const from = model.version;
    const outcome = await cluster.call(this.#process, (parts) =>
      getRecord(parts, SPACE, name, { partitionKey, id }),
    );
    if (outcome.kind === 'unknown') return;
    const window = this.#window(from);
    if (outcome.kind === 'refused') return model.absent(name, window);
    const found = outcome.value === null ? undefined : heldInText(outcome.value.json);
    const isSame = (held: Held | undefined) =>
      held?.marker === found?.marker && held?.revision === found?.revision;
    model.recordWas(
      name,
      nameOfKey({ partitionKey, id }),
      window,
      isSame,
      JSON.stringify(found ?? 'absence'),
    );
  }

  async #query(name: string): Promise<void> {
    const { cluster, model, reached } = this.#stage;
    const { random } = cluster.scheduler;
    const kind = random.chance(0.4) ? random.pick(KINDS) : null;
    const limit = random.chance(0.3) ? 3 : 100;
    const filter = kind === null ? null : { path: '/metadata/kind', op: 'eq', value: kind };
    // All partitions, one after the other: a query of several reads.
    const partitionKeys = kind === null ? ['p0', 'p1'] : [];
    const from = model.version;
    const outcome = await cluster.call(this.#process, (parts) =>
      queryRecords(parts, SPACE, name, { filter, partitionKeys, limit }),
    );
    if (outcome.kind === 'unknown') return;
    const window = this.#window(from);
    if (outcome.kind === 'refused') {
      must(outcome.code === 'collection_not_found', 'answer', `a query was refused with ${outcome.code}`);
      return model.absent(name, window);
    }
    reached.add(outcome.value.records.length > 0 ? 'queried' : 'queried nothing');
    const answer = outcome.value.records.map((text) => shownAs(heldInText(text)));
    const chosen = (held: readonly Held[]) =>
      held.filter((each) => kind === null || each.kind === kind).slice(0, limit);
    model.listed(name, window, answer, chosen);
  }

  /** By a word that every record of a kind holds. */
  async #search(name: string): Promise<void> {
    const { cluster, model, reached } = this.#stage;
    const kind = cluster.scheduler.random.pick(KINDS);
    const from = model.version;
    const outcome = await cluster.call(this.#process, (parts) =>
      searchRecords(parts, SPACE, name, { lexical: { query: kind } }),
    );
    if (outcome.kind === 'unknown') return;
    const window = this.#window(from);
    if (outcome.kind === 'refused') {
      must(outcome.code === 'collection_not_found', 'answer', `a search was refused with ${outcome.code}`);
      return model.absent(name, window);
    }
    const { matches } = outcome.value;
    reached.add(matches.length > 0 ? 'found' : 'found nothing');
    const answer = matches.map((match) => {
      const { record } = parseJson(match) as { readonly record: object };
      return shownAs(heldInText(JSON.stringify(record)));
    });
    const chosen = (held: readonly Held[]) => held.filter((each) => each.kind === kind);
    // Equal scores are in the order of keys, and all records of a kind have the same number of words.
    model.listed(name, window, answer, chosen);
  }

  async #create(name: string): Promise<void> {
    const { cluster, model, reached } = this.#stage;
    const from = model.version;
    const outcome = await cluster.call(this.#process, (parts) =>
      createCollection(parts, SPACE, policyOf(name)),
    );
    must(outcome.kind !== 'refused', 'answer', 'a creation was refused');
    if (outcome.kind !== 'answer') return;
    reached.add('created');
    model.present(name, this.#window(from));
  }

  async #remove(name: string): Promise<void> {
    const { cluster, model, open, reached } = this.#stage;
    const from = model.version;
    const ended = open.begin(name);
    const outcome = await cluster.call(this.#process, (parts) => removeCollection(parts, SPACE, name), ended);
    must(outcome.kind !== 'refused', 'answer', 'a deletion was refused');
    if (outcome.kind !== 'answer') return;
    reached.add('deleted collection');
    model.absent(name, this.#window(from));
  }

  /** A job, which the workers execute. */
  #admit(name: string): void {
    const { cluster, jobs } = this.#stage;
    const { random } = cluster.scheduler;
    const kind = random.pick(['batch', 'import', 'replace', 'replace'] as const);
    const first = random.below(3);
    const items = KEYS.slice(first, first + 4 + random.below(KEYS.length - first - 3)).map((id) => {
      const marker = this.#mark();
      return { marker, record: JSON.parse(this.#text(marker, id)) as object };
    });
    const records = items.map(({ record }) => record);
    const snapshot = { collection: name, policy: policyOf(name), recordCount: records.length, records };
    const body = kind === 'batch' ? { records } : { snapshot, replaceExisting: kind === 'replace' };
    const load: Load = {
      id: `run-${this.#mark()}`,
      kind,
      name,
      text: JSON.stringify(body),
      markers: items.map(({ marker }) => marker),
      status: 'active',
      result: undefined,
    };
    jobs.loads.push(load);
  }
}

function isMet(condition: WritePrecondition | null, revision: number): boolean {
  if (condition?.ifNoneMatch === '*') return revision === 0;
  if (condition?.ifMatch === '*') return revision > 0;
  return condition === null || condition.expectedRevision === revision;
}

/** Executes unfinished jobs; now and then it abandons one, and executes it again later. */
export async function work(
  { cluster, jobs, reached }: RecordsStage,
  name: string,
  isOver: () => boolean,
): Promise<void> {
  const { scheduler } = cluster;
  const { random } = scheduler;
  const process = new Process(name);
  while (!isOver()) {
    await scheduler.sleep(process, random.below(random.chance(0.1) ? 120_000 : 1_500));
    const active = jobs.active();
    if (active.length === 0) continue;
    const load = random.pick(active);
    if (random.chance(0.04)) {
      load.status = 'given up';
      reached.add('given up');
    }
    await jobs.execute(process, load);
  }
}

/** Upkeep, as the timer of each instance does it. */
export async function sweep(
  { cluster, jobs, reached, forgetsRuns }: RecordsStage,
  process: Process,
): Promise<boolean> {
  const isRunActive = (runId: string) => Promise.resolve(!forgetsRuns && jobs.isActive(runId));
  const outcome = await cluster.call(process, (parts) =>
    sweepRetired(parts, { isOver: () => false, isRunActive }),
  );
  must(outcome.kind !== 'refused', 'answer', 'upkeep was refused');
  if (outcome.kind !== 'answer') return false;
  if (outcome.value.records > 0) reached.add('swept');
  return outcome.value.collections === 0;
}
