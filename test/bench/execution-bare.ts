import { DatabaseSync, type StatementSync } from 'node:sqlite';

/**
 * The bare limit of runs: a job table in `node:sqlite`, three durable changes a run (queued, running, ended), each flushed
 * (`synchronous=FULL`). No rules, no trace, no HTTP. With `grouped`, all changes that wait share one transaction.
 */
export class BareJobs {
  readonly #db: DatabaseSync;
  readonly #grouped: boolean;
  readonly #insert: StatementSync;
  readonly #lease: StatementSync;
  readonly #complete: StatementSync;
  readonly #begin: StatementSync;
  readonly #commit: StatementSync;
  #waiting: (() => void)[] = [];

  constructor(path: string, grouped: boolean) {
    this.#db = new DatabaseSync(path);
    this.#db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 4000;
      CREATE TABLE jobs (id INTEGER PRIMARY KEY, status TEXT NOT NULL, payload TEXT NOT NULL, result TEXT,
        token TEXT, attempt INTEGER NOT NULL, changed INTEGER NOT NULL) STRICT;
      CREATE INDEX jobs_queued ON jobs (id) WHERE status = 'queued'`);
    this.#grouped = grouped;
    this.#insert = this.#db.prepare(
      `INSERT INTO jobs (status, payload, attempt, changed) VALUES ('queued', ?, 0, ?)`,
    );
    this.#lease =
      this.#db.prepare(`UPDATE jobs SET status = 'running', token = ?, attempt = attempt + 1, changed = ?
      WHERE id = (SELECT id FROM jobs WHERE status = 'queued' ORDER BY id LIMIT 1) RETURNING id, payload, attempt`);
    this.#complete = this.#db.prepare(
      `UPDATE jobs SET status = 'succeeded', result = ?, changed = ? WHERE id = ? AND token = ? AND status = 'running'`,
    );
    this.#begin = this.#db.prepare('BEGIN IMMEDIATE');
    this.#commit = this.#db.prepare('COMMIT');
  }

  start(payload: string): Promise<number> {
    return this.#change(() => Number(this.#insert.run(payload, Date.now()).lastInsertRowid));
  }

  lease(token: string): Promise<Job | undefined> {
    return this.#change(() => this.#lease.get(token, Date.now()) as Job | undefined);
  }

  async complete(id: number, token: string, result: string): Promise<void> {
    const { changes } = await this.#change(() => this.#complete.run(result, Date.now(), id, token));
    if (changes !== 1) throw new Error('the job was not held');
  }

  /** A run from its start to its durable result; another's, where several are under way. */
  async run(): Promise<void> {
    await this.start(PAYLOAD);
    const token = String(Math.random());
    const job = await this.lease(token);
    if (job === undefined) throw new Error('there is no job');
    await this.complete(job.id, token, PAYLOAD);
  }

  close(): void {
    this.#db.close();
  }

  async #change<R>(change: () => R): Promise<R> {
    if (!this.#grouped) {
      this.#begin.run();
      const result = change();
      this.#commit.run();
      return result;
    }
    return new Promise((resolve) => {
      this.#waiting.push(() => {
        const result = change();
        this.#durable.push(() => resolve(result));
      });
      if (this.#waiting.length === 1) setImmediate(() => this.#flush());
    });
  }

  readonly #durable: (() => void)[] = [];

  #flush(): void {
    this.#begin.run();
    for (const change of this.#waiting.splice(0)) change();
    this.#commit.run();
    for (const answer of this.#durable.splice(0)) answer();
  }
}

export interface Job {
  readonly id: number;
  readonly payload: string;
  readonly attempt: number;
}

const PAYLOAD = JSON.stringify({ n: 1 });
