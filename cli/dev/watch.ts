import { type FSWatcher, statSync, watch } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** Editors write a file in several steps, and some replace it by another one. */
const QUIET_MS = 100;

/** Files of a folder that cannot be watched are looked at as often. */
const POLL_MS = 500;

export interface FilesWatchOptions {
  /** Called once for changes that come together. */
  readonly changed: () => void;
  readonly warn: (text: string) => void;
  /** Default: that of Node. */
  readonly watchFolder?: typeof watch;
}

interface Folder {
  readonly names: Set<string>;
  /** `null` where the files are polled. */
  watcher: FSWatcher | null;
}

/**
 * Watches files, by their folders: a file that an editor replaces is another one, and its folder stays. The files of a folder that
 * is missing or replaced, or that the machine does not watch, are polled instead.
 */
export class FilesWatch {
  readonly #options: FilesWatchOptions;
  readonly #folders = new Map<string, Folder>();
  /** The polled files, and what was last seen of each. */
  readonly #polled = new Map<string, string>();
  #poller: NodeJS.Timeout | undefined;
  #hasWarned = false;
  #isClosed = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: FilesWatchOptions) {
    this.#options = options;
  }

  add(path: string): void {
    if (this.#isClosed) return;
    const [place, name] = [dirname(path), basename(path)];
    const folder = this.#folders.get(place) ?? this.#begun(place);
    if (folder.names.has(name)) return;
    folder.names.add(name);
    if (folder.watcher === null) this.#poll(path);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    clearInterval(this.#poller);
    for (const { watcher } of this.#folders.values()) watcher?.close();
  }

  #begun(place: string): Folder {
    const folder: Folder = { names: new Set(), watcher: null };
    this.#folders.set(place, folder);
    const inode = inodeOf(place);
    try {
      const { watchFolder = watch } = this.#options;
      const watcher = watchFolder(place, (_, name) => {
        // A watched folder that was removed reports nothing more, also when one with its name is made again.
        if (inodeOf(place) !== inode) this.#pollAll(place, folder);
        else if (name === null || folder.names.has(name)) this.#noticed();
      });
      watcher.on('error', (error) => {
        this.#explain(place, error);
        this.#pollAll(place, folder);
      });
      folder.watcher = watcher;
    } catch (error) {
      this.#explain(place, error);
    }
    return folder;
  }

  #pollAll(place: string, folder: Folder): void {
    if (folder.watcher === null || this.#isClosed) return;
    folder.watcher.close();
    folder.watcher = null;
    for (const name of folder.names) this.#poll(join(place, name));
    this.#noticed();
  }

  #poll(path: string): void {
    this.#polled.set(path, stateOf(path));
    this.#poller ??= setInterval(() => this.#look(), POLL_MS);
  }

  #look(): void {
    for (const [path, before] of this.#polled) {
      const now = stateOf(path);
      if (now === before) continue;
      this.#polled.set(path, now);
      this.#noticed();
    }
  }

  /** A missing folder needs no word: the load of the module reports it. */
  #explain(place: string, error: unknown): void {
    const { code, message } = error as NodeJS.ErrnoException;
    if (this.#hasWarned || code === 'ENOENT') return;
    this.#hasWarned = true;
    this.#options.warn(
      `The folder ${place} cannot be watched (${code ?? message}): its files are looked at every ${POLL_MS} ms instead`,
    );
  }

  #noticed(): void {
    clearTimeout(this.#timer);
    if (!this.#isClosed) this.#timer = setTimeout(this.#options.changed, QUIET_MS);
  }
}

function inodeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.ino;
}

function stateOf(path: string): string {
  const file = statSync(path, { throwIfNoEntry: false });
  return file === undefined ? 'missing' : `${file.mtimeMs} ${file.size} ${file.ino}`;
}
