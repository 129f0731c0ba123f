import { NoStoreError, StoreError } from '../port.ts';
import { type Connection } from './connection.ts';
import type { Locks } from './locks.ts';
import { BEGIN, type Statement, statement } from './statement.ts';

/** Named in `schema_versions`; step n of `steps` leads from version n to n + 1. */
const steps: readonly string[] = [
  `
  -- Which space holds a scope's records now; a swap flips it.
  CREATE TABLE scopes (
    kind text COLLATE "C" NOT NULL, name text COLLATE "C" NOT NULL, space bigint NOT NULL,
    PRIMARY KEY (kind, name)
  );

  -- Touched by the server's clock, which all instances share. A number is never used again, so a load whose space was
  -- swept cannot meet another's.
  CREATE TABLE spaces (
    space bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, kind text NOT NULL, name text NOT NULL,
    state text NOT NULL CHECK (state IN ('live', 'loading', 'retired')),
    touched_at timestamptz NOT NULL DEFAULT now()
  );
  CREATE INDEX spaces_to_sweep ON spaces (space) WHERE state <> 'live';

  -- Heads and bodies are text, never jsonb, which rewrites numbers and the order of members. COLLATE "C" is the order of
  -- UTF-8 bytes. A page keeps room, so that a new head needs no new index rows.
  CREATE TABLE records (
    space bigint NOT NULL, due bigint, part_bytes bigint NOT NULL, hidden boolean NOT NULL,
    collection text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL, head text NOT NULL,
    listing_group text COLLATE "C", listing_id text COLLATE "C" NOT NULL, indexes text, parts text, body text,
    CONSTRAINT records_pkey PRIMARY KEY (space, collection, id)
  ) WITH (fillfactor = 85);
  CREATE INDEX records_by_listing ON records (space, collection, listing_group, listing_id)
    WHERE listing_group IS NOT NULL;
  CREATE INDEX records_by_due ON records (space, collection, due, listing_id, id) WHERE due IS NOT NULL;

  -- One row a projected index of a record that is not hidden. The second order serves lists of one group in the order of
  -- an index; collections that are listed by equality alone do without it.
  CREATE TABLE entries (
    space bigint NOT NULL, paired boolean NOT NULL, collection text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL, value text COLLATE "C" NOT NULL, listing_group text COLLATE "C" NOT NULL,
    listing_id text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL
  );
  CREATE INDEX entries_by_value ON entries
    (space, collection, name, value, listing_group, listing_id) INCLUDE (id);
  CREATE INDEX entries_by_group ON entries
    (space, collection, name, listing_group, value, listing_id) INCLUDE (id) WHERE paired;

  -- Bodies filed under another record; the record that brought them names them in its column parts.
  CREATE TABLE parts (
    space bigint NOT NULL, filed_under text COLLATE "C" NOT NULL, part_order text COLLATE "C" NOT NULL,
    body text NOT NULL, PRIMARY KEY (space, filed_under, part_order)
  );
  `,
];

interface Server {
  readonly encoding: string;
  readonly known: boolean;
  readonly searched: boolean;
}

/**
 * Brings the schema to the version that this code knows; safe beside other instances that do the same. Without `create` it
 * must be there. Answers whether it also has tables of searches.
 */
export async function migrate(
  connection: Connection,
  { schema, locks, create }: { readonly schema: string; readonly locks: Locks; readonly create: boolean },
): Promise<boolean> {
  const [[server]] = await connection.send(
    statement<Server>(
      `SELECT current_setting('server_encoding') AS encoding, to_regclass($1) IS NOT NULL AS known,
        to_regclass($2) IS NOT NULL AS searched`,
      `${schema}.schema_versions`,
      `${schema}.search_versions`,
    ),
  );
  if (server?.encoding !== 'UTF8') {
    throw new StoreError(
      'unavailable',
      `the database has the encoding ${server?.encoding}; it must have UTF8`,
    );
  }
  if (!server.known && !create) throw new NoStoreError();
  // Nothing to do, and then no lock to wait for, nor a right to change the schema to have.
  if (server.known && (await versionOf(connection)) === steps.length) return server.searched;
  await connection.send(BEGIN, statement('SELECT pg_advisory_xact_lock($1)', locks.schema()));
  await connection.send(
    script(`CREATE SCHEMA IF NOT EXISTS ${schema}`),
    script(`CREATE TABLE IF NOT EXISTS schema_versions (
      version integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now()
    )`),
  );
  const version = await versionOf(connection);
  const writes: Statement[] = [];
  for (const [index, step] of steps.entries()) {
    if (index < version) continue;
    writes.push(script(step), statement('INSERT INTO schema_versions (version) VALUES ($1)', index + 1));
  }
  await connection.commit(...writes);
  return server.searched;
}

/** Several commands in one text, which must not be prepared. */
function script(text: string): Statement {
  return { text, values: [] };
}

async function versionOf(connection: Connection): Promise<number> {
  const [[row]] = await connection.send(
    statement<{ version: number }>('SELECT coalesce(max(version), 0) AS version FROM schema_versions'),
  );
  const version = row?.version ?? 0;
  if (version > steps.length) {
    throw new StoreError(
      'unavailable',
      `the database has schema version ${version}, but this release knows ${steps.length} at most: use a newer release`,
    );
  }
  return version;
}
