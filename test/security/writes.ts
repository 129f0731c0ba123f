import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { RunningService } from '../support/service.ts';

/** Watches a service's database from a connection of its own. */
export class WriteWatch {
  readonly #database: DatabaseSync;

  /** The database must be there: something has to have been written. */
  constructor(service: RunningService) {
    this.#database = new DatabaseSync(join(service.folder, 'svc.canonical.sqlite'), { readOnly: true });
  }

  /** Changes exactly when another connection has written. */
  get version(): unknown {
    return this.#database.prepare('PRAGMA data_version').get()?.['data_version'];
  }

  close(): void {
    this.#database.close();
  }
}
