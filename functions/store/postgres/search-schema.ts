import { type Scope, StoreError } from '../port.ts';
import { type Connection, type Reader } from './connection.ts';
import { StatementError } from './errors.ts';
import type { Locks } from './locks.ts';
import type { Plan } from './plan.ts';
import { BEGIN, type Statement, statement } from './statement.ts';

/** Tombstones of a slot beyond this are trimmed. */
export const deadMax = 2_000;

/**
 * The tables of searches. They have version numbers of their own beside the numbered schema: the previous release refuses a
 * schema with a higher number, and it works on the same database during an upgrade.
 */
const steps: readonly string[] = [
  `
  -- How searches find a record. Each term begins with the space and a mark of collection and group, so that one index entry
  -- leads to records of one group only. The words are made by the service: no text search configuration takes part.
  CREATE TABLE search_entries (
    space bigint NOT NULL, collection text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL,
    search_group text COLLATE "C" NOT NULL, order_key text COLLATE "C" NOT NULL, slots text NOT NULL, lexicon text NOT NULL,
    terms tsvector NOT NULL,
    CONSTRAINT search_entries_pkey PRIMARY KEY (space, collection, id)
  ) WITH (toast_tuple_target = 128);
  -- What finds compare stays in the row, so that a walk of many rows reads few pages.
  ALTER TABLE search_entries ALTER COLUMN collection SET STORAGE PLAIN, ALTER COLUMN id SET STORAGE PLAIN,
    ALTER COLUMN search_group SET STORAGE PLAIN, ALTER COLUMN order_key SET STORAGE PLAIN;
  CREATE INDEX search_entries_by_term ON search_entries USING gin (terms) WITH (fastupdate = off);

  -- All vectors of a slot in a group. The version grows with each changed vector; numbers are never used again. \`live\`
  -- counts the vectors, \`dead\` at least the tombstones. A page keeps room, so that a new version needs no new index rows.
  CREATE TABLE search_slots (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, space bigint NOT NULL,
    version bigint NOT NULL, trimmed bigint NOT NULL DEFAULT 0, live bigint NOT NULL, dead bigint NOT NULL,
    collection text COLLATE "C" NOT NULL, search_group text COLLATE "C" NOT NULL, slot text COLLATE "C" NOT NULL,
    CONSTRAINT search_slots_key UNIQUE (space, collection, search_group, slot)
  ) WITH (fillfactor = 50);
  CREATE INDEX search_slots_to_trim ON search_slots (number) WHERE live = 0 OR dead > ${deadMax};

  -- Little-endian float32. Null is a tombstone: the record was removed, or carries no such vector any more.
  CREATE TABLE search_vectors (
    slot bigint NOT NULL, version bigint NOT NULL, id text COLLATE "C" NOT NULL, vector bytea,
    CONSTRAINT search_vectors_pkey PRIMARY KEY (slot, id)
  );
  ALTER TABLE search_vectors ALTER COLUMN vector SET STORAGE EXTERNAL;
  CREATE UNIQUE INDEX search_vectors_by_version ON search_vectors (slot, version);
  CREATE INDEX search_vectors_dead ON search_vectors (slot, version) WHERE vector IS NULL;
  `,
];

type State = 'unknown' | 'ready' | 'missing' | 'newer';

const versionsTable = 'search_versions';
const forbidden = '42501';

/**
 * Whether the tables of searches exist. An account without the right to create them serves everything else: only a call
 * that needs the tables fails, and it checks again first, because another process may have created them.
 */
export class SearchTables {
  #state: State = 'unknown';
  #isSwept = false;

  /** Creates missing tables, if the account has the right; safe beside other instances that do the same. */
  async prepare(connection: Connection, locks: Locks, found: boolean): Promise<void> {
    try {
      if (found) await this.#judge(connection);
      if (this.#state !== 'ready' && this.#state !== 'newer') await this.#make(connection, locks);
    } catch (error) {
      if (!(error instanceof StatementError) || error.sqlState !== forbidden) throw error;
      await connection.rollback();
      this.#state = 'missing';
    }
  }

  /** Whether the plan also changes search tables; throws when the tables are needed and missing. */
  async change(connection: Connection, { kind }: Pick<Scope, 'kind'>, plan: Plan): Promise<boolean> {
    const puts = [...plan.creates, ...plan.updates.map(({ record }) => record)];
    const adds = puts.some(({ search }) => search !== undefined && search !== null);
    if (kind !== 'spaces') {
      if (adds) throw new TypeError('only the records of spaces are searched');
      return false;
    }
    if (!adds && plan.removes.length === 0 && puts.every(({ search }) => search === undefined)) return false;
    if (await this.#usable(connection)) return true;
    if (adds) throw this.#error();
    return false;
  }

  async mustExist(connection: Reader): Promise<void> {
    if (!(await this.#usable(connection))) throw this.#error();
  }

  /**
   * Whether a check for leftovers of the previous release is still needed: it runs once, because it reads every space.
   */
  takeFirstSweep(): boolean {
    const isFirst = this.ready && !this.#isSwept;
    this.#isSwept ||= isFirst;
    return isFirst;
  }

  get ready(): boolean {
    return this.#state === 'ready';
  }

  /** Asks in words that fail no transaction. */
  async #usable(connection: Reader): Promise<boolean> {
    if (this.#state === 'ready') return true;
    const ask = `SELECT to_regclass('${versionsTable}') IS NOT NULL
      AND has_table_privilege(to_regclass('${versionsTable}'), 'SELECT') AS found`;
    const [[answer]] = await connection.send(statement<{ found: boolean }>(ask));
    if (answer?.found === true) await this.#judge(connection);
    return this.ready;
  }

  async #judge(connection: Reader): Promise<void> {
    const version = await versionOf(connection);
    if (version >= steps.length) this.#state = version === steps.length ? 'ready' : 'newer';
  }

  async #make(connection: Connection, locks: Locks): Promise<void> {
    await connection.send(BEGIN, statement('SELECT pg_advisory_xact_lock($1)', locks.schema()));
    await connection.send(
      script(`CREATE TABLE IF NOT EXISTS ${versionsTable} (
        version integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now()
      )`),
    );
    const version = await versionOf(connection);
    const writes = steps.flatMap((step, index) =>
      index < version
        ? []
        : [script(step), statement(`INSERT INTO ${versionsTable} (version) VALUES ($1)`, index + 1)],
    );
    await connection.commit(...writes);
    this.#state = version > steps.length ? 'newer' : 'ready';
  }

  #error(): StoreError {
    const reason =
      this.#state === 'newer'
        ? 'a newer release has changed the tables of searches: use that release'
        : 'the tables of searches are missing, and this account may not make them: start the service once with an account that may';
    return new StoreError('unavailable', `PostgreSQL: ${reason}`, { isMisconfigured: true });
  }
}

async function versionOf(connection: Reader): Promise<number> {
  const [[row]] = await connection.send(
    statement<{ version: number }>(`SELECT coalesce(max(version), 0) AS version FROM ${versionsTable}`),
  );
  return row?.version ?? 0;
}

/** Several commands in one text, which must not be prepared. */
function script(text: string): Statement {
  return { text, values: [] };
}
