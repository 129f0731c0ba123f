import { hash } from 'node:crypto';
import { NoStoreError, StoreError } from '../port.ts';
import type { Connection } from './connection.ts';
import { isNoSuchTable } from './errors.ts';
import { type Statement, statement } from './statement.ts';

/**
 * Step n leads from version n to n + 1. The server ends a transaction at each change of the schema, so a step may be cut
 * off in the middle: every command must do no harm when it is given again.
 *
 * Texts are VARBINARY, compared as bytes: a collation of the server's would pad with spaces or fold letters. The widths
 * leave room above the contract's limits, and every key stays below InnoDB's 3,072 bytes.
 */
const steps: readonly (readonly string[])[] = [
  [
    // Which space holds a scope's records now; a restore flips it. Every change of the scope locks its row.
    `{scopes} (
      kind VARBINARY(16) NOT NULL, name VARBINARY(768) NOT NULL, space BIGINT NOT NULL,
      PRIMARY KEY (kind, name)
    )`,
    // A number is never used again, so a load whose space was swept cannot meet another's.
    `{spaces} (
      space BIGINT NOT NULL AUTO_INCREMENT, kind VARBINARY(16) NOT NULL, name VARBINARY(768) NOT NULL,
      state VARBINARY(8) NOT NULL, touched_ms BIGINT NOT NULL,
      PRIMARY KEY (space), KEY spaces_by_state (state, touched_ms)
    )`,
    // The table itself lies in the order of a scan. Heads and bodies are bytes, never JSON, which would rewrite numbers and
    // the order of members. The sizes are here so that a page is bounded without fetching its content.
    `{records} (
      space BIGINT NOT NULL, collection VARBINARY(64) NOT NULL, id VARBINARY(32) NOT NULL, due BIGINT NULL,
      listing_group VARBINARY(512) NULL, listing_id VARBINARY(768) NOT NULL, hidden TINYINT NOT NULL,
      body_bytes INT UNSIGNED NOT NULL, parts INT UNSIGNED NOT NULL, part_bytes INT UNSIGNED NOT NULL,
      head MEDIUMBLOB NOT NULL, indexes MEDIUMBLOB NULL, body LONGBLOB NULL,
      PRIMARY KEY (space, collection, id),
      KEY records_by_listing (space, collection, listing_group, listing_id, hidden),
      KEY records_by_due (space, collection, due, listing_id)
    )`,
    // One row a projected index of a record that is not hidden: by record, to ask whether it matches; by value, to walk
    // them in order; and by group first, to walk the order of one group.
    `{entries} (
      space BIGINT NOT NULL, collection VARBINARY(64) NOT NULL, id VARBINARY(32) NOT NULL, name VARBINARY(128) NOT NULL,
      value VARBINARY(1024) NOT NULL, listing_group VARBINARY(512) NOT NULL, listing_id VARBINARY(768) NOT NULL,
      PRIMARY KEY (space, collection, id, name),
      KEY entries_by_value (space, collection, name, value, listing_group, listing_id),
      KEY entries_by_group (space, collection, name, listing_group, value, listing_id)
    )`,
    // Bodies filed under another record; \`collection\` and \`id\` name the record that brought them.
    `{parts} (
      space BIGINT NOT NULL, filed_under VARBINARY(32) NOT NULL, part_order VARBINARY(255) NOT NULL,
      collection VARBINARY(64) NOT NULL, id VARBINARY(32) NOT NULL, position INT UNSIGNED NOT NULL,
      body_bytes INT UNSIGNED NOT NULL, body LONGBLOB NOT NULL,
      PRIMARY KEY (space, filed_under, part_order),
      KEY parts_by_record (space, collection, id, position)
    )`,
  ].map((table) => `CREATE TABLE IF NOT EXISTS ${table}`),
];

/** Set explicitly, because the database's defaults may differ. */
export const tableOptions =
  'ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin';

const versions = statement(`CREATE TABLE IF NOT EXISTS {schema_versions} (
  version INT NOT NULL, PRIMARY KEY (version)
) ${tableOptions}`);

const lockWaitSeconds = 10;

/**
 * Brings the database to the version that this code knows; safe beside other processes that do the same. Without `create`
 * the tables must be there.
 */
export async function migrate(
  connection: Connection,
  { tablePrefix, create }: { readonly tablePrefix: string; readonly create: boolean },
): Promise<void> {
  const found = await versionOf(connection);
  // Nothing to do, and then no lock to wait for, nor a right to change the schema to have.
  if (found === steps.length) return;
  // The version 0 has a first step that was cut off.
  if (!create && (found ?? 0) === 0) throw new NoStoreError();
  await withSchemaLock(connection, tablePrefix, async () => {
    await connection.send(versions);
    const version = (await versionOf(connection)) ?? 0;
    for (const [index, step] of steps.entries()) {
      if (index < version) continue;
      for (const command of step) await connection.send(statement(`${command} ${tableOptions}`));
      await connection.send(statement('INSERT INTO {schema_versions} (version) VALUES (?)', index + 1));
    }
  });
}

/** One process at a time changes the tables of a prefix. */
export async function withSchemaLock(
  connection: Connection,
  tablePrefix: string,
  work: () => Promise<void>,
): Promise<void> {
  const lock = await lockName(connection, tablePrefix);
  const [taken] = await connection.send(
    statement<{ taken: number | null }>(`SELECT GET_LOCK(?, ${lockWaitSeconds}) AS taken`, lock),
  );
  if (taken.rows[0]?.taken !== 1) {
    throw new StoreError('unavailable', 'MySQL: another process has been changing the schema for too long');
  }
  try {
    await work();
  } finally {
    // When this fails, the connection is closed and the server releases the lock.
    await connection
      .send(statement('SELECT RELEASE_LOCK(?) AS released', lock))
      .catch(() => connection.destroy());
  }
}

/** Such locks hold for the whole server, and their names are short: each database and prefix has its own. */
async function lockName(connection: Connection, tablePrefix: string): Promise<string> {
  const database: Statement<{ name: string }> = statement('SELECT DATABASE() AS name');
  const [answer] = await connection.send(database);
  const name = JSON.stringify(['svc', answer.rows[0]?.name, tablePrefix]);
  return `svc_${hash('sha256', name, 'hex').slice(0, 32)}`;
}

/** `undefined` where the schema does not exist. */
async function versionOf(connection: Connection): Promise<number | undefined> {
  const versionsNow = statement<{ version: number | null }>(
    'SELECT MAX(version) AS version FROM {schema_versions}',
  );
  try {
    const [answer] = await connection.send(versionsNow);
    const version = answer.rows[0]?.version ?? 0;
    if (version <= steps.length) return version;
    throw new StoreError(
      'unavailable',
      `the database has schema version ${version}, but this release knows ${steps.length} at most: use a newer release`,
    );
  } catch (error) {
    if (isNoSuchTable(error)) return undefined;
    throw error;
  }
}
