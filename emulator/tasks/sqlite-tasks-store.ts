import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { makePrivateFile, privateFolderMode } from '../../functions/store/sqlite/private-files.ts';
import type { QueueRecord, TargetRequest, TaskProgress, TaskRecord } from './model.ts';
import type { StoredTasks, TasksStore } from './tasks-store.ts';

const schema = `
CREATE TABLE IF NOT EXISTS queues (name TEXT PRIMARY KEY, record TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS tasks (
  number INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  created_at REAL NOT NULL,
  request TEXT NOT NULL,
  body BLOB,
  progress TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS held (name TEXT PRIMARY KEY, until REAL NOT NULL) STRICT, WITHOUT ROWID;
`;
const version = 1;

interface TaskRow {
  readonly number: number;
  readonly name: string;
  readonly created_at: number;
  readonly request: string;
  readonly body: Uint8Array | null;
  readonly progress: string;
}

/**
 * A SQLite file in a folder, for one process. All changes of one event-loop turn share a transaction and an fsync.
 * Throws if another process has the file, and for a file of another version.
 */
export function openSqliteTasksStore(folder: string, now: number): TasksStore {
  mkdirSync(folder, { recursive: true, mode: privateFolderMode });
  const path = join(folder, 'tasks.sqlite');
  makePrivateFile(path);
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    prepareFile(database, now);
  } catch (error) {
    database.close();
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`${path} cannot be used: ${reason}.`, { cause: error });
  }
  return new SqliteTasksStore(database);
}

function prepareFile(database: DatabaseSync, now: number): void {
  // Held until the file is closed, so that a second emulator cannot send the same tasks.
  database.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;');
  database.exec('BEGIN IMMEDIATE');
  const found = Number(database.prepare('PRAGMA user_version').get()?.['user_version']);
  if (found !== 0 && found !== version) throw new Error(`it is of version ${found}, and not ${version}`);
  database.exec(`${schema} PRAGMA user_version = ${version};`);
  database.prepare('DELETE FROM held WHERE until <= ?').run(now);
  database.exec('COMMIT');
}

class SqliteTasksStore implements TasksStore {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  #pending: (() => void)[] = [];
  #writing: Promise<void> = Promise.resolve();
  #failure: unknown;

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  load(): StoredTasks {
    const tasks = this.#sql('SELECT * FROM tasks ORDER BY number').all() as unknown as TaskRow[];
    return {
      queues: this.#sql('SELECT record FROM queues')
        .all()
        .map(({ record }) => JSON.parse(String(record)) as QueueRecord),
      tasks: tasks.map(taskOf),
      held: this.#sql('SELECT name, until FROM held ORDER BY until')
        .all()
        .map(({ name, until }) => [String(name), Number(until)] as const),
    };
  }

  putQueue(queue: QueueRecord): void {
    this.#write(() => {
      this.#sql(
        'INSERT INTO queues VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET record = excluded.record',
      ).run(queue.name, JSON.stringify(queue));
      this.#sql('DELETE FROM held WHERE name = ?').run(queue.name);
    });
  }

  dropQueue(name: string, heldUntil: number): void {
    this.#write(() => {
      this.#sql('DELETE FROM queues WHERE name = ?').run(name);
      // No id contains a character between the slash and the zero after it.
      for (const table of ['tasks', 'held'])
        this.#sql(`DELETE FROM ${table} WHERE name > ? AND name < ?`).run(`${name}/`, `${name}0`);
      this.#hold(name, heldUntil);
    });
  }

  putTask({ number, name, createdAt, request, progress }: TaskRecord): void {
    const { body, ...rest } = request;
    this.#write(() => {
      this.#sql('INSERT INTO tasks VALUES (?, ?, ?, ?, ?, ?)').run(
        number,
        name,
        createdAt,
        JSON.stringify(rest),
        body,
        JSON.stringify(progress),
      );
      this.#sql('DELETE FROM held WHERE name = ?').run(name);
    });
  }

  putProgress(name: string, progress: TaskProgress): void {
    this.#write(() => {
      this.#sql('UPDATE tasks SET progress = ? WHERE name = ?').run(JSON.stringify(progress), name);
    });
  }

  endTask(name: string, heldUntil: number): void {
    this.#write(() => {
      this.#sql('DELETE FROM tasks WHERE name = ?').run(name);
      this.#hold(name, heldUntil);
    });
  }

  settled(): Promise<void> {
    return this.#writing;
  }

  async close(): Promise<void> {
    await this.#writing.catch(() => undefined);
    this.#database.close();
  }

  #hold(name: string, until: number): void {
    this.#sql('INSERT INTO held VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET until = excluded.until').run(
      name,
      until,
    );
  }

  #write(change: () => void): void {
    this.#pending.push(change);
    if (this.#pending.length > 1) return;
    this.#writing = new Promise((resolve, reject) => {
      setImmediate(() => {
        try {
          this.#flush();
          resolve();
        } catch (error) {
          reject(error instanceof Error ? error : new Error(String(error)));
        }
      });
    });
    // The promise may have no waiter; a later caller of `settled` still gets the failure.
    this.#writing.catch(() => undefined);
  }

  /** Stop writing after a failure: memory and file differ from then on. */
  #flush(): void {
    const changes = this.#pending;
    this.#pending = [];
    if (this.#failure !== undefined) throw this.#failure;
    try {
      this.#database.exec('BEGIN IMMEDIATE');
      for (const change of changes) change();
      this.#database.exec('COMMIT');
    } catch (error) {
      this.#failure = error;
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
      throw error;
    }
  }

  #sql(text: string): StatementSync {
    let statement = this.#statements.get(text);
    if (statement === undefined) {
      statement = this.#database.prepare(text);
      this.#statements.set(text, statement);
    }
    return statement;
  }
}

function taskOf({ number, name, created_at: createdAt, request, body, progress }: TaskRow): TaskRecord {
  const parsed = JSON.parse(request) as Omit<TargetRequest, 'body'>;
  // Without a prototype: an object literal would confuse some field names with inherited ones.
  const headers = Object.assign(Object.create(null) as Record<string, string>, parsed.headers);
  return {
    number,
    name,
    createdAt,
    request: { ...parsed, headers, body },
    progress: JSON.parse(progress) as TaskProgress,
  };
}
