import { randomBytes } from 'node:crypto';
import { Firestore } from '@google-cloud/firestore';
import { createPool } from 'mysql2/promise';
import type { MysqlServer } from '../support/mysql-setup.ts';
import { BareSqlite } from './bare-sqlite.ts';
import { DOCUMENTS, documentId, upsert } from './workload.ts';

/**
 * The bare limit of a database: the rows of one commit written into the store's own tables by the driver alone, in one
 * transaction and, where the database can, in one call: no rules, no JSON to check, no second round trip.
 */
export interface Bare {
  readonly about: string;
  commit(): Promise<void>;
  /** Commits in two round trips: one reads the records, and one writes and commits. */
  readonly twoTrips?: () => Promise<void>;
  close(): Promise<void>;
}

/** As long as what the store writes; what they say does not matter here. */
const long = {
  receiptHead: JSON.stringify({ receipt: 'x'.repeat(300) }),
  receiptBody: JSON.stringify({ outbox: 'x'.repeat(520) }),
  eventHead: JSON.stringify({ event: 'x'.repeat(470) }),
  eventBody: JSON.stringify({ headers: {}, payload: { id: 'document-1234' } }),
  eventIndexes: JSON.stringify({ phase: 'open', topic: 'bench' }),
  documentHead: JSON.stringify({ revision: 1, rest: 'x'.repeat(180) }),
  revisionAround: 'x'.repeat(420),
} as const;

let commits = 0;

/** The parts of one commit that change: a random document, a new key, a place in the order of events. */
function commitParts() {
  const index = Math.floor(Math.random() * DOCUMENTS);
  const key = randomBytes(16).toString('hex');
  const number = commits++;
  const event = `2026-01-02T03:04:${String(number).padStart(9, '0')}Z~ctx_${key}:000`;
  return { index, key, number, event, body: JSON.stringify(upsert(documentId(index)).document.data) };
}

function documentKey(index: number): string {
  return String(index).padStart(32, '0');
}

export async function bareSqlite(path: string): Promise<Bare> {
  const bare = new BareSqlite(path);
  return {
    about: 'one transaction, prepared statements, synchronous=FULL',
    commit: async () => bare.commit(),
    close: async () => bare.close(),
  };
}

const SPACE = 900;

/** The writes of the bare call's function, as one statement. */
const bareWrite = `WITH receipt AS (
    INSERT INTO svc.records (space, due, part_bytes, hidden, collection, id, head, listing_id, parts, body)
      VALUES (${SPACE}, NULL, 1300, false, 'commits', $1::text, '${long.receiptHead}', '',
        '[["' || $2::text || '","1"]]', '${long.receiptBody}')),
  document AS (
    UPDATE svc.records AS r SET head = '${long.documentHead}', body = $3::text
      WHERE r.space = ${SPACE} AND r.collection = 'documents' AND r.id = $2::text),
  part AS (
    INSERT INTO svc.parts (space, filed_under, part_order, body)
      VALUES (${SPACE}, $2::text, lpad($4::bigint::text, 16, '0'), '${long.revisionAround}' || $3::text)),
  event AS (
    INSERT INTO svc.records
      (space, due, part_bytes, hidden, collection, id, head, listing_group, listing_id, indexes, body)
      VALUES (${SPACE}, 1700000000000 + $4::bigint, 0, false, 'events', $1::text, '${long.eventHead}', 'event', $5::text,
        '${long.eventIndexes}', '${long.eventBody}'))
  INSERT INTO svc.entries (space, paired, collection, name, value, listing_group, listing_id, id)
    VALUES (${SPACE}, false, 'events', 'phase', 'open', 'event', $5::text, $1::text),
      (${SPACE}, false, 'events', 'topic', 'bench', 'event', $5::text, $1::text)`;

export async function barePostgres(connectionString: string, connections: number): Promise<Bare> {
  const { Pool } = (await import('pg')).default;
  const pool = new Pool({ connectionString, max: connections, options: '-c search_path=svc' });
  await pool.query(`CREATE FUNCTION svc.bare_commit(key text, document text, body text, number bigint, event text)
    RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM 1 FROM svc.records WHERE space = ${SPACE} AND collection = 'commits' AND id = key;
      PERFORM head FROM svc.records WHERE space = ${SPACE} AND collection = 'documents' AND id = document FOR UPDATE;
      INSERT INTO svc.records (space, due, part_bytes, hidden, collection, id, head, listing_id, parts, body)
        VALUES (${SPACE}, NULL, 1300, false, 'commits', key, '${long.receiptHead}', '',
          '[["' || document || '","1"]]', '${long.receiptBody}');
      UPDATE svc.records AS r SET head = '${long.documentHead}', body = bare_commit.body
        WHERE r.space = ${SPACE} AND r.collection = 'documents' AND r.id = document;
      INSERT INTO svc.parts (space, filed_under, part_order, body)
        VALUES (${SPACE}, document, lpad(number::text, 16, '0'), '${long.revisionAround}' || bare_commit.body);
      INSERT INTO svc.records
        (space, due, part_bytes, hidden, collection, id, head, listing_group, listing_id, indexes, body)
        VALUES (${SPACE}, 1700000000000 + number, 0, false, 'events', key, '${long.eventHead}', 'event', event,
          '${long.eventIndexes}', '${long.eventBody}');
      INSERT INTO svc.entries (space, paired, collection, name, value, listing_group, listing_id, id)
        VALUES (${SPACE}, false, 'events', 'phase', 'open', 'event', event, key),
          (${SPACE}, false, 'events', 'topic', 'bench', 'event', event, key);
    END $$`);
  await pool.query(
    `INSERT INTO svc.records (space, due, part_bytes, hidden, collection, id, head, listing_group, listing_id, indexes, body)
     SELECT ${SPACE}, NULL, 0, false, 'documents', lpad(n::text, 32, '0'), $1, 'bench', 'document-' || n, '{}', $2
     FROM generate_series(0, ${DOCUMENTS - 1}) AS n`,
    [long.documentHead, JSON.stringify(upsert('document').document.data)],
  );
  const query = { name: 'bare_commit', text: 'SELECT svc.bare_commit($1, $2, $3, $4, $5)' };
  const reading = {
    name: 'bare_read',
    text: `SELECT id, head FROM svc.records
      WHERE space = ${SPACE} AND (collection, id) IN (('commits', $1), ('documents', $2))`,
  };
  const writing = { name: 'bare_write', text: bareWrite };
  return {
    about: 'one PL/pgSQL call a commit',
    async commit() {
      const { index, key, number, event, body } = commitParts();
      await pool.query({ ...query, values: [key, documentKey(index), body, number, event] });
    },
    async twoTrips() {
      const { index, key, number, event, body } = commitParts();
      const client = await pool.connect();
      try {
        await client.query({ ...reading, values: [key, documentKey(index)] });
        await client.query({ ...writing, values: [key, documentKey(index), body, number, event] });
      } finally {
        client.release();
      }
    },
    close: () => pool.end(),
  };
}

export async function bareMysql(
  server: MysqlServer & { readonly database: string },
  connections: number,
): Promise<Bare> {
  const pool = createPool({ ...server, connectionLimit: connections });
  await pool.query(`CREATE PROCEDURE bare_commit(the_key VARBINARY(32), document VARBINARY(32), the_body LONGBLOB,
      number BIGINT, event VARBINARY(768))
    BEGIN
      DECLARE seen BLOB;
      START TRANSACTION;
      SELECT space INTO seen FROM svc_scopes WHERE kind = 'tenants' AND name = 'bare' FOR UPDATE;
      SELECT head INTO seen FROM svc_records WHERE space = ${SPACE} AND collection = 'documents' AND id = document;
      INSERT INTO svc_records
        (space, collection, id, due, listing_id, hidden, body_bytes, parts, part_bytes, head, body)
        VALUES (${SPACE}, 'commits', the_key, NULL, '', 0, 520, 1, 1300, '${long.receiptHead}', '${long.receiptBody}');
      UPDATE svc_records SET head = '${long.documentHead}', body = the_body
        WHERE space = ${SPACE} AND collection = 'documents' AND id = document;
      INSERT INTO svc_parts (space, filed_under, part_order, collection, id, position, body_bytes, body)
        VALUES (${SPACE}, document, LPAD(number, 16, '0'), 'commits', the_key, 0, 1300,
          CONCAT('${long.revisionAround}', the_body));
      INSERT INTO svc_records
        (space, collection, id, due, listing_group, listing_id, hidden, body_bytes, parts, part_bytes, head, indexes, body)
        VALUES (${SPACE}, 'events', the_key, 1700000000000 + number, 'event', event, 0, 60, 0, 0, '${long.eventHead}',
          '${long.eventIndexes}', '${long.eventBody}');
      INSERT INTO svc_entries (space, collection, id, name, value, listing_group, listing_id)
        VALUES (${SPACE}, 'events', the_key, 'phase', 'open', 'event', event),
          (${SPACE}, 'events', the_key, 'topic', 'bench', 'event', event);
      COMMIT;
    END`);
  await pool.query(`INSERT INTO svc_scopes (kind, name, space) VALUES ('tenants', 'bare', ${SPACE})`);
  const body = JSON.stringify(upsert('document').document.data);
  const rows = Array.from({ length: DOCUMENTS }, (_, n) => [
    SPACE,
    'documents',
    documentKey(n),
    'bench',
    documentId(n),
    0,
    body.length,
    0,
    0,
    long.documentHead,
    '{}',
    body,
  ]);
  for (let at = 0; at < rows.length; at += 500) {
    await pool.query(
      `INSERT INTO svc_records (space, collection, id, listing_group, listing_id, hidden, body_bytes, parts, part_bytes,
        head, indexes, body) VALUES ?`,
      [rows.slice(at, at + 500)],
    );
  }
  const call = 'CALL bare_commit(?, ?, ?, ?, ?)';
  const callValues = (parts: ReturnType<typeof commitParts>) => [
    parts.key,
    documentKey(parts.index),
    parts.body,
    parts.number,
    parts.event,
  ];
  return {
    about: 'one stored procedure a commit, the tenant locked by a row as in the store',
    async commit() {
      await pool.execute(call, callValues(commitParts()));
    },
    async twoTrips() {
      const parts = commitParts();
      const connection = await pool.getConnection();
      try {
        await connection.execute(
          `SELECT id, head FROM svc_records
            WHERE space = ${SPACE} AND (collection, id) IN (('commits', ?), ('documents', ?))`,
          [parts.key, documentKey(parts.index)],
        );
        await connection.execute(call, callValues(parts));
      } finally {
        connection.release();
      }
    },
    close: () => pool.end(),
  };
}

export async function bareFirestore(projectId: string, host: string): Promise<Bare> {
  const db = new Firestore({ projectId, host, ssl: false });
  const documents = db.collection('bare/documents/all');
  const batch = db.bulkWriter();
  for (let n = 0; n < DOCUMENTS; n++) {
    void batch.set(documents.doc(documentKey(n)), { head: long.documentHead, body: 'x'.repeat(900) });
  }
  await batch.close();
  return {
    about: 'one BatchGet of three documents, one Commit of three writes',
    async commit() {
      const { index, key, number, event, body } = commitParts();
      const [receipt, document, outbox] = [
        db.doc(`bare/commits/all/${key}`),
        documents.doc(documentKey(index)),
        db.doc(`bare/events/all/${key}`),
      ];
      await db.getAll(db.doc('bare/head'), receipt, document);
      const writes = db.batch();
      writes.create(receipt, { head: long.receiptHead, body: long.receiptBody, revision: body });
      writes.set(document, { head: long.documentHead, body });
      writes.create(outbox, { head: long.eventHead, body: long.eventBody, due: number, event });
      await writes.commit();
    },
    close: () => db.terminate(),
  };
}
