import { type Scope, StoreError, type Write } from '../port.ts';
import type { Connection } from './connection.ts';
import { isForbidden, isNoSuchTable } from './errors.ts';
import { tableOptions, withSchemaLock } from './schema.ts';
import { statement } from './statement.ts';

/** Tombstones of a slot beyond this are trimmed. */
export const deadMax = 2_000;

/**
 * The tables of searches. They have version numbers of their own beside the numbered schema: the previous release refuses a
 * schema with a higher number, and it works on the same database during an upgrade. A step may be interrupted, so every
 * command must be harmless when it is repeated.
 */
const steps: readonly (readonly string[])[] = [
  [
    // By these the remains of a space are found that the release before has swept: it knows no searches.
    '{search_spaces} (space BIGINT NOT NULL, PRIMARY KEY (space))',
    `{search_entries} (
      space BIGINT NOT NULL, collection VARBINARY(64) NOT NULL, id VARBINARY(32) NOT NULL,
      search_group VARBINARY(512) NOT NULL, order_key VARBINARY(768) NOT NULL, lexicon_bytes INT UNSIGNED NOT NULL,
      slots BLOB NOT NULL, terms MEDIUMBLOB NOT NULL, lexicon MEDIUMBLOB NOT NULL,
      PRIMARY KEY (space, collection, id)
    )`,
    // A row for each term of a record, in the order of a walk. A full-text index would be smaller, but it shows the
    // newest committed state and not the snapshot's. The mark stands for collection and group, as record ids stand for
    // keys.
    `{search_terms} (
      space BIGINT NOT NULL, mark BINARY(12) NOT NULL, term VARBINARY(192) NOT NULL,
      order_key VARBINARY(768) NOT NULL, id BINARY(16) NOT NULL, PRIMARY KEY (space, mark, term, order_key, id)
    )`,
    // All vectors of a slot in a group. The version grows with each changed vector; numbers are never used again. \`live\`
    // counts the vectors, \`dead\` at least the tombstones.
    `{search_slots} (
      number BIGINT NOT NULL AUTO_INCREMENT, space BIGINT NOT NULL, collection VARBINARY(64) NOT NULL,
      search_group VARBINARY(512) NOT NULL, slot VARBINARY(64) NOT NULL, version BIGINT NOT NULL,
      trimmed BIGINT NOT NULL, live BIGINT NOT NULL, dead BIGINT NOT NULL,
      PRIMARY KEY (number), UNIQUE KEY search_slots_key (space, collection, search_group, slot)
    )`,
    // Little-endian float32. Null is a tombstone: the record was removed, or carries no such vector any more.
    `{search_vectors} (
      slot BIGINT NOT NULL, id VARBINARY(32) NOT NULL, version BIGINT NOT NULL, is_dead TINYINT NOT NULL,
      vector MEDIUMBLOB NULL,
      PRIMARY KEY (slot, id), UNIQUE KEY search_vectors_by_version (slot, version),
      KEY search_vectors_dead (slot, is_dead, version)
    )`,
  ].map((table) => `CREATE TABLE IF NOT EXISTS ${table}`),
];

type State = 'unknown' | 'ready' | 'missing' | 'newer';

/**
 * Whether the tables of searches exist. An account without the right to create them serves everything else: only a call
 * that needs the tables fails, and it checks again first, because another process may have created them.
 */
export class SearchTables {
  #state: State = 'unknown';
  #isSwept = false;

  /** Creates missing tables, if the account has the right; safe beside other processes that do the same. */
  async prepare(connection: Connection, tablePrefix: string): Promise<void> {
    if (await this.usable(connection)) return;
    if (this.#state === 'newer') return;
    try {
      await withSchemaLock(connection, tablePrefix, () => this.#make(connection));
      this.#state = 'ready';
    } catch (error) {
      if (!isForbidden(error)) throw error;
    }
  }

  get ready(): boolean {
    return this.#state === 'ready';
  }

  async usable(connection: Pick<Connection, 'send'>): Promise<boolean> {
    if (this.#state === 'ready') return true;
    try {
      const version = await versionOf(connection);
      if (version < steps.length) this.#state = 'missing';
      else this.#state = version === steps.length ? 'ready' : 'newer';
    } catch (error) {
      if (!isNoSuchTable(error) && !isForbidden(error)) throw error;
      this.#state = 'missing';
    }
    return this.ready;
  }

  /** Whether changes of the scope may change what searches read. */
  async takesPart(connection: Connection, { kind }: Scope): Promise<boolean> {
    return kind === 'spaces' && (await this.usable(connection));
  }

  /** Throws where a write has an entry and the scope, or the database, has no place for it. */
  check(writes: readonly Write[], { kind }: Scope): void {
    const adds = writes.some((write) => 'put' in write && write.put.search != null);
    if (!adds) return;
    if (kind !== 'spaces') throw new TypeError('only the records of spaces are searched');
    if (!this.ready) throw this.#error();
  }

  async mustExist(connection: Pick<Connection, 'send'>): Promise<void> {
    if (!(await this.usable(connection))) throw this.#error();
  }

  /**
   * Whether a check for leftovers of the previous release is still needed: it runs once, because it reads every space.
   */
  takeFirstSweep(): boolean {
    const isFirst = this.ready && !this.#isSwept;
    this.#isSwept ||= isFirst;
    return isFirst;
  }

  async #make(connection: Connection): Promise<void> {
    await connection.send(
      statement(`CREATE TABLE IF NOT EXISTS {search_versions} (
        version INT NOT NULL, PRIMARY KEY (version)
      ) ${tableOptions}`),
    );
    const version = await versionOf(connection);
    for (const [index, step] of steps.entries()) {
      if (index < version) continue;
      for (const command of step) await connection.send(statement(`${command} ${tableOptions}`));
      await connection.send(statement('INSERT INTO {search_versions} (version) VALUES (?)', index + 1));
    }
  }

  #error(): StoreError {
    const reason =
      this.#state === 'newer'
        ? 'a newer release has changed the tables of searches: use that release'
        : 'the tables of searches are missing, and this account may not make them: start the service once with an account that may';
    return new StoreError('unavailable', `MySQL: ${reason}`, { isMisconfigured: true });
  }
}

async function versionOf(connection: Pick<Connection, 'send'>): Promise<number> {
  const [answer] = await connection.send(
    statement<{ version: number | null }>('SELECT MAX(version) AS version FROM {search_versions}'),
  );
  return answer.rows[0]?.version ?? 0;
}
