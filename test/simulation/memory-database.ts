import type { RecordData, RecordKey, RecordView, Scope, Write } from '../../functions/store/port.ts';

/** A record as it stands, whole, and a number that no other state of any record had. */
export interface Stored {
  readonly record: Kept;
  readonly version: number;
}

/** One record before and after a write. */
export interface Change {
  readonly key: RecordKey;
  readonly before: Kept | undefined;
  readonly after: Kept | undefined;
}

/** The content of an in-memory store; several stores over one database are several instances over one database. */
export class MemoryDatabase {
  readonly #spaces = new Map<string, Map<string, Stored>>();
  readonly #swaps = new Map<string, number>();
  #version = 0;

  find(scope: Scope, key: RecordKey): Stored | undefined {
    return this.#spaces.get(spaceName(scope))?.get(keyName(key));
  }

  /** In no order. The records themselves never change, so a copy of the list is a snapshot. */
  all(scope: Scope, collection?: string): Stored[] {
    const stored = [...(this.#spaces.get(spaceName(scope))?.values() ?? [])];
    return collection === undefined ? stored : stored.filter((s) => s.record.key.collection === collection);
  }

  /** How often the scope was replaced. */
  generation(scope: Scope): number {
    return this.#swaps.get(spaceName(scope)) ?? 0;
  }

  /** Applies all writes at one moment. Removals go first, so that a listing id may change hands. */
  apply(scope: Scope, writes: readonly Write[]): Change[] {
    const changes: Change[] = [];
    for (const write of writes)
      if ('remove' in write) changes.push(this.#set(scope, write.remove, undefined));
    for (const write of writes) {
      if ('put' in write) changes.push(this.#set(scope, write.put.key, write.put));
    }
    return changes;
  }

  replace(scope: Scope, records: readonly RecordData[]): void {
    this.#spaces.delete(spaceName(scope));
    this.#swaps.set(spaceName(scope), this.generation(scope) + 1);
    for (const record of records) this.#set(scope, record.key, record);
  }

  #set(scope: Scope, key: RecordKey, put: RecordData | undefined): Change {
    const space = this.#spaces.get(spaceName(scope)) ?? new Map<string, Stored>();
    this.#spaces.set(spaceName(scope), space);
    const before = space.get(keyName(key))?.record;
    const after = put === undefined ? undefined : merged(before, put);
    if (after === undefined) space.delete(keyName(key));
    else space.set(keyName(key), { record: after, version: ++this.#version });
    return { key, before, after };
  }
}

/** The stored form of a record. */
type Kept = Required<Omit<RecordData, 'keptOutside'>>;

/** The record with what the write leaves out taken over. Parts are written once, when the record is created. */
function merged(before: Kept | undefined, put: RecordData): Kept {
  const { body, listing, search } = put;
  const record = {
    key: put.key,
    head: { ...put.head },
    body: body === undefined ? (before?.body ?? null) : body,
    listing: listing === undefined ? (before?.listing ?? null) : listing && { ...listing },
    search: search === undefined ? (before?.search ?? null) : search,
    due: put.due ?? null,
    parts: before?.parts ?? [...(put.parts ?? [])],
  };
  return deepFrozen(record);
}

/** A head view leaves body and listing out rather than null, so that writing it back keeps them. */
export function viewOf(record: Kept, view: RecordView): RecordData {
  const { key, head, due, body, listing, parts } = record;
  if (view === 'head') return { key, head, due };
  return view === 'body' ? { key, head, due, body, listing } : { key, head, due, body, listing, parts };
}

export function keyName(key: RecordKey): string {
  return `${key.collection}/${key.id}`;
}

function spaceName(scope: Scope): string {
  return `${scope.kind}/${scope.name}`;
}

/** A caller that changes what it was shown would change the database: let it fail there. */
function deepFrozen<T extends object>(value: T): T {
  // The engine cannot freeze the numbers of a vector.
  if (ArrayBuffer.isView(value)) return value;
  for (const member of Object.values(value)) {
    if (typeof member === 'object' && member !== null) deepFrozen(member as object);
  }
  return Object.freeze(value);
}
