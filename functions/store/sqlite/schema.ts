import { StoreError } from '../port.ts';
import type { Connection } from './connection.ts';

/** Kept in `PRAGMA user_version`; step n of `steps` leads from version n to n + 1. */
const steps: readonly string[] = [
  `
  -- Which space holds a scope's records now; a restore flips it.
  CREATE TABLE scopes (
    kind TEXT NOT NULL, name TEXT NOT NULL, space INTEGER NOT NULL,
    PRIMARY KEY (kind, name)
  ) STRICT, WITHOUT ROWID;

  -- AUTOINCREMENT: a number is never used again, so a load whose space was swept cannot meet another's.
  CREATE TABLE spaces (
    space INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, name TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('live', 'loading', 'retired')), touched_ms INTEGER NOT NULL
  ) STRICT;

  -- Rows are appended and found by a small unique index: measured half again as fast under grouped commits as a
  -- WITHOUT ROWID table, whose inner pages fill with bodies. The body is last, so that small facts are read without it.
  CREATE TABLE records (
    record INTEGER PRIMARY KEY, space INTEGER NOT NULL, collection TEXT NOT NULL, id TEXT NOT NULL,
    head TEXT NOT NULL, listing_group TEXT, listing_id TEXT NOT NULL, hidden INTEGER NOT NULL, indexes TEXT,
    due INTEGER, parts TEXT, body TEXT
  ) STRICT;
  CREATE UNIQUE INDEX records_by_id ON records (space, collection, id);
  CREATE INDEX records_by_listing ON records (space, collection, listing_group, listing_id, hidden)
    WHERE listing_group IS NOT NULL;
  CREATE INDEX records_by_due ON records (space, collection, due, listing_id) WHERE due IS NOT NULL;

  -- One row a projected index of a record that is not hidden. The second order serves lists of one group in the order of
  -- an index; collections that are listed by equality alone do without it, and so without its scattered pages.
  CREATE TABLE entries (
    space INTEGER NOT NULL, collection TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL,
    listing_group TEXT NOT NULL, listing_id TEXT NOT NULL, record INTEGER NOT NULL, paired INTEGER NOT NULL,
    PRIMARY KEY (space, collection, name, value, listing_group, listing_id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX entries_by_group ON entries (space, collection, name, listing_group, value, listing_id, record)
    WHERE paired = 1;

  -- Bodies filed under another record; the record that brought them names them in its column parts.
  CREATE TABLE parts (
    part INTEGER PRIMARY KEY, space INTEGER NOT NULL, filed_under TEXT NOT NULL, part_order TEXT NOT NULL,
    body TEXT NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX parts_by_order ON parts (space, filed_under, part_order);
  `,
];

/** The version that this code writes. */
export const schemaVersion = steps.length;

/** Brings the file to the version that this code knows; safe beside another process that does the same. */
export function migrate(connection: Connection): void {
  // Nothing to do, and then no lock to wait for.
  if (versionOf(connection) === steps.length) return;
  connection.run('BEGIN IMMEDIATE');
  try {
    const version = versionOf(connection);
    if (version > steps.length) throw newerVersion(version);
    for (const step of steps.slice(version)) connection.exec(step);
    if (version < steps.length) connection.exec(`PRAGMA user_version = ${steps.length}`);
    connection.run('COMMIT');
  } finally {
    connection.rollback();
  }
}

function versionOf(connection: Connection): number {
  return connection.get<{ user_version: number }>('PRAGMA user_version')?.user_version ?? 0;
}

/** For a database that must not change: throws when its version is not the one of this code. */
export function requireVersion(connection: Connection): void {
  const version = versionOf(connection);
  if (version > steps.length) throw newerVersion(version);
  if (version < steps.length)
    throw new StoreError(
      'unavailable',
      `the database has schema version ${version}, and this release reads ${steps.length}: start the service once, which changes it`,
    );
}

function newerVersion(version: number): StoreError {
  return new StoreError(
    'unavailable',
    `the database has schema version ${version}, but this release knows ${steps.length} at most: use a newer release`,
  );
}
