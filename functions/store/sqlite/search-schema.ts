import { StoreError } from '../port.ts';
import type { Connection } from './connection.ts';

/**
 * The tables of searches. They have version numbers of their own beside the numbered schema: the previous release refuses a
 * file with a higher number, and it works on the same file during an upgrade.
 */
const steps: readonly string[] = [
  `
  -- The number of a group stands before each of its terms. AUTOINCREMENT: a number is never used again.
  CREATE TABLE search_groups (
    number INTEGER PRIMARY KEY AUTOINCREMENT, space INTEGER NOT NULL, collection TEXT NOT NULL, name TEXT NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX search_groups_by_name ON search_groups (space, collection, name);

  -- One row a record that searches find, by the row number of the record. Rows are small, because a find by term reads one
  -- for each record that holds the term. vectors names the record's rows in search_vectors by the number of the slot.
  CREATE TABLE search_entries (
    record INTEGER PRIMARY KEY, search_group INTEGER NOT NULL, id TEXT NOT NULL, order_key TEXT NOT NULL, vectors TEXT
  ) STRICT;
  CREATE INDEX search_entries_by_group ON search_entries (search_group);
  CREATE TABLE search_lexicons (record INTEGER PRIMARY KEY, lexicon TEXT NOT NULL) STRICT;

  -- The tokenizer divides at the spaces that the service puts between terms, and changes no letter of a term.
  CREATE VIRTUAL TABLE search_terms USING fts5 (
    terms, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii'
  );
  -- The service merges the parts of the index itself, a few pages with each write: by itself FTS5 merges many at once, above
  -- all after deletions, and all calls of the process wait for seconds.
  INSERT INTO search_terms (search_terms, rank) VALUES
    ('automerge', 0), ('deletemerge', 0), ('crisismerge', 1999), ('usermerge', 6);

  -- All vectors of a slot in a group. version grows with each changed vector; live counts the vectors, dead the tombstones.
  CREATE TABLE search_slots (
    number INTEGER PRIMARY KEY AUTOINCREMENT, search_group INTEGER NOT NULL, name TEXT NOT NULL,
    version INTEGER NOT NULL, trimmed INTEGER NOT NULL, live INTEGER NOT NULL, dead INTEGER NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX search_slots_by_name ON search_slots (search_group, name);

  -- Little-endian float32. Null is a tombstone: the record was removed, or carries no such vector any more.
  CREATE TABLE search_vectors (
    vector INTEGER PRIMARY KEY, slot INTEGER NOT NULL, version INTEGER NOT NULL, id TEXT NOT NULL, floats BLOB
  ) STRICT;
  CREATE UNIQUE INDEX search_vectors_by_version ON search_vectors (slot, version);
  CREATE UNIQUE INDEX search_vectors_removed ON search_vectors (slot, id, version) WHERE floats IS NULL;
  `,
  `
  -- Numbers of words by the row number of the record, 256 in a row, each of two bytes: see search-lengths.ts.
  CREATE TABLE search_lengths (chunk INTEGER PRIMARY KEY, words BLOB NOT NULL) STRICT;
  -- Which records hold which token, for ranges of tokens.
  CREATE VIRTUAL TABLE search_tokens USING fts5vocab (search_terms, instance);
  `,
];

/** The version of the tables of searches that this code writes. */
export const searchVersion = steps.length;

/** Makes the tables that are missing; safe beside another process that does the same. */
export function migrateSearches(connection: Connection): void {
  // Nothing to do, and then no lock to wait for.
  if (versionOf(connection) === steps.length) return;
  connection.run('BEGIN IMMEDIATE');
  try {
    const version = versionOf(connection);
    if (version > steps.length) {
      throw new StoreError(
        'unavailable',
        `the database has version ${version} of the tables of searches, but this release knows ${steps.length} at most: use a newer release`,
      );
    }
    connection.exec('CREATE TABLE IF NOT EXISTS search_versions (version INTEGER PRIMARY KEY) STRICT');
    for (const [index, step] of steps.entries()) {
      if (index < version) continue;
      connection.exec(step);
      connection.run('INSERT INTO search_versions (version) VALUES (?)', index + 1);
    }
    connection.run('COMMIT');
  } finally {
    connection.rollback();
  }
}

function versionOf(connection: Connection): number {
  const named = `SELECT count(*) AS tables FROM sqlite_schema WHERE name = 'search_versions'`;
  if (connection.get<{ tables: number }>(named)?.tables !== 1) return 0;
  return (
    connection.get<{ version: number }>('SELECT max(version) AS version FROM search_versions')?.version ?? 0
  );
}
