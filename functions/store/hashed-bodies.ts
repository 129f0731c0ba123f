import type { Collection, RecordData, RecordStore, Scope } from './port.ts';
import { StoreError } from './port.ts';

/** Bodies of records have at most 1 MiB, and a page is held at once. */
const PAGE = 10;

/** One stored body that has a hash. */
export interface HashedBody {
  /** Names it without a word of a caller, for the log: the collection and the id of its record, or the key of its bytes. */
  readonly place: string;
  /** Names it for an operator, who has to mend it. */
  readonly name: string;
  /** Reads and hashes it: its size in bytes. Throws `corrupt` where it is not what was written. */
  readonly verify: () => Promise<number>;
}

export interface BodyPage {
  readonly bodies: readonly HashedBody[];
  /** A position that outlives the process; `null` at the end. */
  readonly next: string | null;
}

/** All stored bodies of one kind. */
export interface HashedBodies {
  readonly kind: string;
  /** What an operator does about a damaged one. */
  readonly remedy: string;
  readonly page: (after: string | null) => Promise<BodyPage>;
}

/** Scopes in an order that stays: the first, or the next one after a position. */
export type NextScope = (
  after: string | null,
) => Promise<{ readonly scope: Scope; readonly next: string | null } | null>;

export interface RecordBodiesParts {
  readonly kind: string;
  readonly remedy: string;
  readonly collection: Collection;
  readonly store: () => Promise<RecordStore>;
  readonly scopes: NextScope;
  readonly nameOf: (record: RecordData, scope: Scope) => string;
  /** Throws any error for a body that is not what was written; `StoreError` where that is not known. */
  readonly verify: (record: RecordData, scope: Scope) => Promise<number> | number;
}

interface Position {
  readonly scope: Scope;
  /** In the list of the scope. */
  readonly after: string | null;
  /** The position of the scope behind. */
  readonly next: string | null;
}

/** The bodies that records of a collection hold or name, scope after scope. */
export function recordBodies(parts: RecordBodiesParts): HashedBodies {
  const { kind, remedy, collection, nameOf, verify } = parts;
  const enter = async (after: string | null): Promise<Position | null> => {
    const found = await parts.scopes(after);
    return found === null ? null : { ...found, after: null };
  };
  return {
    kind,
    remedy,
    async page(position) {
      const at = position === null ? await enter(null) : (JSON.parse(position) as Position);
      if (at === null) return { bodies: [], next: null };
      const from = at.after === null ? {} : { after: at.after };
      const list = { by: 'list', collection, limit: PAGE, includeHidden: true, ...from } as const;
      const { records, next } = await (await parts.store()).query(at.scope, list);
      const bodies = records.map((record) => ({
        place: `${record.key.collection}/${record.key.id}`,
        name: nameOf(record, at.scope),
        verify: () => verified(() => verify(record, at.scope)),
      }));
      const following =
        next === null ? await (at.next === null ? null : enter(at.next)) : { ...at, after: next };
      return { bodies, next: following === null ? null : JSON.stringify(following) };
    },
  };
}

/** A text that cannot even be read is not what was written. */
export async function verified(verify: () => Promise<number> | number): Promise<number> {
  try {
    return await verify();
  } catch (error) {
    if (error instanceof StoreError) throw error;
    throw new StoreError('corrupt', `a stored body cannot be read: ${String(error)}`, { cause: error });
  }
}
