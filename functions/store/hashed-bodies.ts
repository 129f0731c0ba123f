import type { Collection, RecordData, RecordStore, Scope } from './port.ts';
import { StoreError } from './port.ts';

/** Bodies of records have at most 1 MiB, and a page is held at once. */
const PAGE = 10;

/** One stored body that has a hash. */
export interface HashedBody {
  /**
   * The name of the body in the log, without a caller's text: the collection and the id of its record, or the key of
   * its bytes.
   */
  readonly place: string;
  /** The name of the body for the operator who repairs it. */
  readonly name: string;
  /**
   * Reads and hashes the body, and resolves to its size in bytes. Throws `corrupt` when it differs from the written
   * body.
   */
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
  /** The steps by which an operator repairs a damaged body. */
  readonly remedy: string;
  readonly page: (after: string | null) => Promise<BodyPage>;
}

/** Scopes in a stable order: the first ones, or the next ones after a position. A page may be empty. */
export type ScopesPage = (
  after: string | null,
) => Promise<{ readonly scopes: readonly Scope[]; readonly next: string | null }>;

interface Position {
  /** The scopes of one page whose bodies are not all read. */
  readonly scopes: readonly Scope[];
  /** The position in the list of the first of these scopes. */
  readonly after: string | null;
  /** The position of the page of scopes behind. */
  readonly next: string | null;
}

/** The bodies that records of a collection hold or name, scope after scope. */
export function recordBodies({
  kind,
  remedy,
  collection,
  store,
  scopes,
  nameOf,
  verify,
}: Pick<HashedBodies, 'kind' | 'remedy'> & {
  readonly collection: Collection;
  readonly store: () => Promise<RecordStore>;
  readonly scopes: ScopesPage;
  readonly nameOf: (record: RecordData, scope: Scope) => string;
  /** Throws any error for a body that differs from the written one; `StoreError` when that is unknown. */
  readonly verify: (record: RecordData, scope: Scope) => Promise<number> | number;
}): HashedBodies {
  const enter = async (after: string | null): Promise<Position> => ({
    ...(await scopes(after)),
    after: null,
  });
  return {
    kind,
    remedy,
    async page(position) {
      let at = position === null ? await enter(null) : (JSON.parse(position) as Position);
      if (at.scopes.length === 0 && at.next !== null) at = await enter(at.next);
      const [scope, ...rest] = at.scopes;
      if (scope === undefined) return { bodies: [], next: at.next === null ? null : JSON.stringify(at) };
      const from = at.after === null ? {} : { after: at.after };
      const list = { by: 'list', collection, limit: PAGE, includeHidden: true, ...from } as const;
      const { records, next } = await (await store()).query(scope, list);
      const bodies = records.map((record) => ({
        place: `${record.key.collection}/${record.key.id}`,
        name: nameOf(record, scope),
        verify: () => verified(() => verify(record, scope)),
      }));
      const following = next === null ? { ...at, scopes: rest, after: null } : { ...at, after: next };
      const isAtEnd = following.scopes.length === 0 && following.next === null;
      return { bodies, next: isAtEnd ? null : JSON.stringify(following) };
    },
  };
}

/** A text that cannot be parsed differs from the written one. */
export async function verified(verify: () => Promise<number> | number): Promise<number> {
  try {
    return await verify();
  } catch (error) {
    if (error instanceof StoreError) throw error;
    throw new StoreError('corrupt', `a stored body cannot be read: ${String(error)}`, { cause: error });
  }
}
