import { type FSWatcher, watch } from 'node:fs';
import { basename, dirname } from 'node:path';

/** Editors write a file in several steps, and some replace it by another one. */
const QUIET_MS = 100;

/** Watches files, by their folders: a file that an editor replaces is another one, and its folder stays. */
export class FilesWatch {
  readonly #changed: () => void;
  readonly #names = new Map<string, Set<string>>();
  readonly #watchers: FSWatcher[] = [];
  #timer: NodeJS.Timeout | undefined;

  /** `changed` is called once for changes that come together. */
  constructor(changed: () => void) {
    this.#changed = changed;
  }

  add(path: string): void {
    const folder = dirname(path);
    const known = this.#names.get(folder);
    if (known !== undefined) {
      known.add(basename(path));
      return;
    }
    const names = new Set([basename(path)]);
    this.#names.set(folder, names);
    const watcher = watch(folder, (_, name) => {
      if (name === null || names.has(name)) this.#noticed();
    });
    // A folder that goes away is noticed by the next load.
    watcher.on('error', () => this.#noticed());
    this.#watchers.push(watcher);
  }

  close(): void {
    clearTimeout(this.#timer);
    for (const watcher of this.#watchers) watcher.close();
  }

  #noticed(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#changed, QUIET_MS);
  }
}
