import { join } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import type { RunningService } from '../support/service.ts';

/** Watches a service's database from a connection of its own. */
export class WriteWatch {
  readonly #database: DatabaseSync;
  readonly #replaced: StatementSync;
  readonly #usage: StatementSync;
  #seen: { readonly data: unknown; readonly usage: unknown } = { data: null, usage: null };
  #version = 0;

  /** The database must be there: something has to have been written. */
  constructor(service: RunningService) {
    this.#database = new DatabaseSync(join(service.folder, 'svc.canonical.sqlite'), { readOnly: true });
    this.#usage = this.#database.prepare(
      `SELECT group_concat(head) AS heads FROM records JOIN scopes USING (space) WHERE kind = 'system' AND scopes.name = 'usage'`,
    );
    this.#replaced = this.#database.prepare(`SELECT count(*) AS spaces FROM spaces WHERE state <> 'live'`);
  }

  /**
   * Changes when another connection has written more than what owners have stored: that is added from time to time, for writes
   * of calls before. A write between two reads of this that also has such a sum is not seen.
   */
  get version(): unknown {
    const data = this.#database.prepare('PRAGMA data_version').get()?.['data_version'];
    if (data === this.#seen.data) return this.#version;
    const usage = this.#usage.get()?.['heads'];
    if (usage === this.#seen.usage) this.#version += 1;
    this.#seen = { data, usage };
    return this.#version;
  }

  /** Waits until what restores have replaced is deleted, which goes on behind their answers. */
  async settled(): Promise<void> {
    while (this.#replaced.get()?.['spaces'] !== 0) {
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    }
  }

  /** Waits until the service, after the end of a job, has made no write for many turns. */
  async rested(): Promise<void> {
    let { version } = this;
    for (let quiet = 0; quiet < 50; quiet += 1) {
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
      if (this.version === version) continue;
      ({ version } = this);
      quiet = 0;
    }
  }

  close(): void {
    this.#database.close();
  }
}
