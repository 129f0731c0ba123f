import {
  COLLECTION_GROUP,
  IMPORT_PROGRESS,
  POLICIES,
  RECORDS,
} from '../../functions/collections/store-collections.ts';
import { parseJson } from '../../functions/kernel/json-text.ts';
import type { RecordData } from '../../functions/store/port.ts';
import type { Change } from './memory-database.ts';
import { compareUtf8 } from './memory-list.ts';
import { must } from './violation.ts';

/** A record as the model keeps it. `marker` names the one write that made it so. */
export interface Held {
  readonly partitionKey: string;
  readonly id: string;
  readonly kind: string;
  readonly marker: string;
  readonly revision: number;
}

/** All of a space at one moment: what each name points at, and what each incarnation holds. */
interface State {
  readonly pointers: ReadonlyMap<string, string>;
  readonly content: ReadonlyMap<string, ReadonlyMap<string, Held>>;
}

interface Written {
  readonly version: number;
  readonly incarnation: string;
  readonly held: Held;
}

/** The moments of a call: every one from the question to the answer. */
export interface Window {
  readonly from: number;
  readonly to: number;
}

/** No call that saw a name point at an incarnation lasts so long. */
const CALL_MS_MAX = 600_000;

/** The calls that the clients have under way, and the records that the jobs are to load. */
export interface Intentions {
  /** Whether a call that removes the record may be under way. */
  readonly mayRemove: (name: string, key: string) => boolean;
  /** Whether a call that deletes the collection may be under way. */
  readonly mayDelete: (name: string) => boolean;
  /** The markers that the run is to load before it replaces a collection. */
  readonly loadOf: (runId: string) => readonly string[];
}

export function nameOfKey({ partitionKey, id }: Pick<Held, 'partitionKey' | 'id'>): string {
  return `${partitionKey}/${id}`;
}

/** The space as the writes of the store make it, one state after the other, and what must hold of each write and answer. */
export class RecordsModel {
  readonly #intentions: Intentions;
  readonly #states: State[] = [{ pointers: new Map(), content: new Map() }];
  readonly #written = new Map<string, Written>();
  readonly #removed: { readonly version: number; readonly incarnation: string; readonly key: string }[] = [];
  readonly #retiredAt = new Map<string, number>();
  readonly #replaced = new Set<string>();
  readonly #late = new Set<string>();

  constructor(intentions: Intentions) {
    this.#intentions = intentions;
  }

  get version(): number {
    return this.#states.length - 1;
  }

  applied(changes: readonly Change[], now: number): void {
    const before = this.#stateAt(this.version);
    const pointers = new Map(before.pointers);
    const content = new Map(before.content);
    for (const change of changes) {
      if (change.key.collection === RECORDS.name) this.#record(change, pointers, content, now);
    }
    for (const change of changes) {
      if (change.key.collection === POLICIES.name) this.#pointer(change, changes, pointers, content, now);
    }
    this.#states.push({ pointers, content });
  }

  #record(
    { before, after }: Change,
    pointers: ReadonlyMap<string, string>,
    content: Map<string, ReadonlyMap<string, Held>>,
    now: number,
  ): void {
    const record = after ?? before;
    if (record === undefined) return;
    const incarnation = record.listing?.group ?? '';
    const held = new Map(content.get(incarnation));
    const key = nameOfKey(heldIn(record));
    const known = held.get(key);
    const seen = before === undefined ? undefined : heldIn(before).marker;
    must(known?.marker === seen, 'I1 acknowledged', `${key} was ${known?.marker}, and the store has ${seen}`);
    const name = [...pointers].find(([, to]) => to === incarnation)?.[0];
    if (after === undefined) {
      const allowed = name === undefined || this.#intentions.mayRemove(name, key);
      must(allowed, 'I1 acknowledged', `${key} of ${name} was removed without a call that removes it`);
      held.delete(key);
      this.#removed.push({ version: this.version + 1, incarnation, key });
    } else {
      const next = heldIn(after);
      const expected = (known?.revision ?? 0) + 1;
      must(next.revision === expected, 'I4 revisions', `${key} has ${next.revision} after ${expected - 1}`);
      must(!this.#written.has(next.marker), 'I4 revisions', `${next.marker} was written twice`);
      this.#written.set(next.marker, { version: this.version + 1, incarnation, held: next });
      held.set(key, next);
      const retiredAt = this.#retiredAt.get(incarnation);
      if (retiredAt !== undefined && now - retiredAt > CALL_MS_MAX) this.#late.add(incarnation);
    }
    content.set(incarnation, held);
  }

  #pointer(
    { before, after }: Change,
    changes: readonly Change[],
    pointers: Map<string, string>,
    content: ReadonlyMap<string, ReadonlyMap<string, Held>>,
    now: number,
  ): void {
    const record = after ?? before;
    must(record?.listing?.group === COLLECTION_GROUP, 'internal', 'a policy is in no list');
    const name = record.listing.id;
    const old = pointers.get(name);
    const seen = before === undefined ? undefined : String(before.head['incarnation']);
    must(old === seen, 'I1 acknowledged', `${name} pointed at ${old}, and the store has ${seen}`);
    if (after === undefined) {
      must(
        this.#intentions.mayDelete(name),
        'I1 acknowledged',
        `${name} was deleted without a call that deletes it`,
      );
      pointers.delete(name);
    } else {
      pointers.set(name, String(after.head['incarnation']));
      this.#loaded(changes, content.get(pointers.get(name) ?? '') ?? new Map());
    }
    if (old !== undefined && old !== pointers.get(name)) this.#retiredAt.set(old, now);
  }

  /** A collection takes the place of another only when all of it is there. */
  #loaded(changes: readonly Change[], held: ReadonlyMap<string, Held>): void {
    const ledger = changes.find(({ key, after }) => {
      return key.collection === IMPORT_PROGRESS.name && after?.head['phase'] === 'done';
    });
    if (ledger === undefined) return;
    const runId = ledger.after?.listing?.group ?? '';
    this.#replaced.add(runId);
    const wanted = this.#intentions.loadOf(runId);
    const found = new Set([...held.values()].map(({ marker }) => marker));
    const missing = wanted.filter((marker) => !found.has(marker));
    must(missing.length === 0, 'I2 whole', `a collection was replaced without ${missing.join(', ')}`);
    must(found.size === wanted.length, 'I2 whole', `a collection was replaced by ${found.size} records`);
  }

  /** The record is there, as answered, in what the name pointed at during the call. */
  upserted(name: string, window: Window, marker: string, revision: number): void {
    const written = this.#written.get(marker);
    must(written !== undefined, 'I1 acknowledged', `${marker} was answered and never written`);
    must(
      written.held.revision === revision,
      'answer',
      `${marker} has ${written.held.revision}, not ${revision}`,
    );
    const { version, incarnation } = written;
    must(version > window.from && version <= window.to, 'answer', `${marker} was written at another time`);
    const wasLive = this.#some({ from: window.from, to: version }, ({ pointers }) => {
      return pointers.get(name) === incarnation;
    });
    must(wasLive, 'answer', `${marker} went to what ${name} no longer pointed at`);
  }

  wasWritten(marker: string): boolean {
    return this.#written.has(marker);
  }

  revisionOf(marker: string): number | undefined {
    return this.#written.get(marker)?.held.revision;
  }

  /** Whether the collection that the run loaded took its place. */
  hasReplaced(runId: string): boolean {
    return this.#replaced.has(runId);
  }

  present(name: string, window: Window): void {
    const found = this.#some(window, ({ pointers }) => pointers.has(name));
    must(found, 'I1 acknowledged', `${name} was answered, and never was there`);
  }

  absent(name: string, window: Window): void {
    const found = this.#some(window, ({ pointers }) => !pointers.has(name));
    must(found, 'answer', `${name} was said to be missing, and was there`);
  }

  /** At some moment of the call there was no such record, or no such collection. */
  gone(name: string, key: string, window: Window): void {
    const absent = this.#some(window, (state) => !visibleIn(state, name).has(key));
    // A removal that saw the name before it pointed elsewhere takes its place before that.
    const removed = this.#removed.some((each) => {
      if (each.key !== key || each.version <= window.from || each.version > window.to) return false;
      const until = { from: window.from, to: each.version };
      return this.#some(until, ({ pointers }) => pointers.get(name) === each.incarnation);
    });
    must(
      absent || removed,
      'answer',
      `the removal of ${key} from ${name} was answered, and it was always there`,
    );
  }

  /** At some moment of the call, `holds` was true of the record. */
  recordWas(
    name: string,
    key: string,
    window: Window,
    holds: (held: Held | undefined) => boolean,
    answer: string,
  ): void {
    const found = this.#some(
      window,
      (state) => state.pointers.has(name) && holds(visibleIn(state, name).get(key)),
    );
    must(found, 'answer', `${answer} was never true of ${key} in ${name}`);
  }

  /** The answer is what `choose` takes of the collection, in the order of keys, as of one moment of the call. */
  listed(
    name: string,
    window: Window,
    answer: readonly string[],
    choose: (held: readonly Held[]) => readonly Held[],
  ): void {
    const found = this.#some(window, (state) => {
      if (!state.pointers.has(name)) return false;
      const all = [...visibleIn(state, name).values()].sort((left, right) => {
        return compareUtf8(left.partitionKey, right.partitionKey) || compareUtf8(left.id, right.id);
      });
      return JSON.stringify(choose(all).map(shownAs)) === JSON.stringify(answer);
    });
    must(found, 'answer', `${name} never was ${answer.join(' ')}`);
  }

  /** Once all is over: the store holds what names point at, and the records of a call that was slower than any. */
  compare(records: readonly RecordData[]): void {
    const { pointers, content } = this.#stateAt(this.version);
    const live = new Set(pointers.values());
    const left = new Set(records.map(({ listing }) => listing?.group ?? ''));
    for (const incarnation of left) {
      const explained = live.has(incarnation) || this.#late.has(incarnation);
      must(explained, 'progress', `records of ${incarnation} are left, and no name points at it`);
    }
    for (const incarnation of live) {
      const stored = records.filter(({ listing }) => listing?.group === incarnation);
      const known = content.get(incarnation) ?? new Map<string, Held>();
      must(
        stored.length === known.size,
        'I1 acknowledged',
        `${stored.length} of ${known.size} records are left`,
      );
    }
  }

  #some({ from, to }: Window, holds: (state: State) => boolean): boolean {
    return this.#states.slice(from, to + 1).some(holds);
  }

  #stateAt(version: number): State {
    return this.#states[version] ?? { pointers: new Map(), content: new Map() };
  }
}

export function shownAs({ partitionKey, id, marker, revision }: Omit<Held, 'kind'>): string {
  return `${partitionKey}/${id}=${marker}@${revision}`;
}

function visibleIn({ pointers, content }: State, name: string): ReadonlyMap<string, Held> {
  return content.get(pointers.get(name) ?? '') ?? new Map<string, Held>();
}

interface RecordText {
  readonly id: string;
  readonly partitionKey: string;
  readonly revision?: number;
  readonly metadata: { readonly kind: string; readonly marker: string };
}

function heldIn({ body, head }: RecordData): Held {
  return heldInText(body ?? '', Number(head['revision']));
}

/** A record as its JSON text shows it. */
export function heldInText(text: string, revision?: number): Held {
  const record = parseJson(text) as RecordText;
  const { id, partitionKey, metadata } = record;
  return { id, partitionKey, ...metadata, revision: revision ?? record.revision ?? 0 };
}
