import { randomBytes } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import { canonicalJson } from '../../functions/kernel/canonical-json.ts';
import { type Measurement, summarize } from './load.ts';
import { DOCUMENTS, documentId, upsert } from './workload.ts';

/**
 * The bare limit: `node:sqlite` alone writing the rows of one commit into the tables of the embedded store, in one
 * transaction each, flushed to disk (`synchronous=FULL`). No HTTP, no rules, no JSON to check: what the disk and the
 * library give, in the same file layout and in the same run.
 */
export class BareSqlite {
  readonly #db: DatabaseSync;
  readonly #transaction: (commit: number) => void;
  #commits = 0;

  /** `path` is a database that the embedded store has made; nothing else has it open. */
  constructor(path: string) {
    this.#db = new DatabaseSync(path);
    this.#db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 4000');
    this.#db.exec(
      "INSERT INTO spaces (space, kind, name, state, touched_ms) VALUES (900, 'tenants', 'bare', 'live', 0)",
    );
    this.#transaction = this.#prepare();
    this.#preload();
  }

  measure(seconds: number, warmupSeconds: number): Measurement {
    this.#loop(warmupSeconds);
    const startedAt = performance.now();
    const times = this.#loop(seconds);
    return summarize(times, (performance.now() - startedAt) / 1000);
  }

  commit(): void {
    this.#transaction(this.#commits++);
  }

  close(): void {
    this.#db.close();
  }

  #loop(seconds: number): number[] {
    const until = performance.now() + seconds * 1000;
    const times: number[] = [];
    while (performance.now() < until) {
      const startedAt = performance.now();
      this.commit();
      times.push(performance.now() - startedAt);
    }
    return times;
  }

  #insertRecord() {
    return this.#db.prepare(`INSERT INTO records
      (space, collection, id, head, listing_group, listing_id, hidden, indexes, due, parts, body)
      VALUES (900, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?)`);
  }

  #preload(): void {
    const insert = this.#insertRecord();
    this.#db.exec('BEGIN');
    for (let n = 0; n < DOCUMENTS; n++) {
      const body = canonicalJson(upsert(documentId(n)).document.data);
      insert.run(
        'documents',
        documentKey(n),
        documentHead(n),
        'bench',
        documentId(n),
        '{}',
        null,
        null,
        body,
      );
    }
    this.#db.exec('COMMIT');
  }

  #prepare(): (commit: number) => void {
    const db = this.#db;
    const find = db.prepare(
      'SELECT record, head FROM records WHERE space = 900 AND collection = ? AND id = ?',
    );
    const update = db.prepare('UPDATE records SET head = ?, body = ? WHERE record = ?');
    const insert = this.#insertRecord();
    const part = db.prepare('INSERT INTO parts (space, filed_under, part_order, body) VALUES (900, ?, ?, ?)');
    const entry = db.prepare(`INSERT INTO entries
      (space, collection, name, value, listing_group, listing_id, record, paired) VALUES (900, 'events', ?, ?, 'event', ?, ?, 0)`);
    const [begin, commit] = [db.prepare('BEGIN IMMEDIATE'), db.prepare('COMMIT')];
    return (number) => {
      const index = Math.floor(Math.random() * DOCUMENTS);
      const key = randomBytes(16).toString('hex');
      const body = canonicalJson(upsert(documentId(index)).document.data);
      const event = `2026-01-02T03:04:${String(number).padStart(9, '0')}Z~ctx_${key}:000`;
      begin.run();
      find.get('commits', key);
      const row = find.get('documents', documentKey(index)) as { record: number };
      insert.run(
        'commits',
        key,
        RECEIPT_HEAD,
        null,
        '',
        null,
        null,
        JSON.stringify([[documentKey(index), '1']]),
        RECEIPT_BODY,
      );
      update.run(documentHead(number), body, row.record);
      part.run(documentKey(index), String(number).padStart(16, '0'), `${REVISION_AROUND}${body}`);
      const added = insert.run(
        'events',
        key,
        EVENT_HEAD,
        'event',
        event,
        EVENT_INDEXES,
        1_700_000_000_000 + number,
        null,
        EVENT_BODY,
      );
      entry.run('phase', 'open', event, added.lastInsertRowid);
      entry.run('topic', 'bench', event, added.lastInsertRowid);
      commit.run();
    };
  }
}

// As long as what the store writes; what they say does not matter here.
const RECEIPT_HEAD = JSON.stringify({ receipt: 'x'.repeat(300) });
const RECEIPT_BODY = JSON.stringify({ outbox: 'x'.repeat(520) });
const EVENT_HEAD = JSON.stringify({ event: 'x'.repeat(470) });
const EVENT_BODY = JSON.stringify({ headers: {}, payload: { id: 'document-1234' } });
const EVENT_INDEXES = JSON.stringify({ phase: 'open', topic: 'bench' });
const REVISION_AROUND = 'x'.repeat(420);

function documentKey(index: number): string {
  return String(index).padStart(32, '0');
}

function documentHead(revision: number): string {
  return JSON.stringify({ revision, rest: 'x'.repeat(180) });
}
