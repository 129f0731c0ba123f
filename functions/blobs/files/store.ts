import { access, constants, link, lstat, mkdir, readdir, rename, rm, unlink } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Clock, RandomSource } from '../../kernel/world.ts';
import {
  type BlobAttributes,
  BlobError,
  type BlobListRequest,
  type BlobPage,
  type BlobStore,
  type StoredBlob,
} from '../port.ts';
import {
  blobUri,
  checkContent,
  checkKey,
  checkPageSize,
  checkPrefix,
  checkPut,
  checkReadable,
  OpenCalls,
} from '../rules.ts';
import { asBlobError, codeOf, isFull, makeRoot, orIfAbsent, syncFolder, writeDurably } from './disk.ts';
import { headLine, readContent, withObject } from './object-file.ts';
import { keysUnder } from './walk.ts';

export interface FileBlobsOptions {
  /** Created when it is missing. It must be on one file system with hard links. */
  readonly folder: string;
  readonly clock: Clock;
  readonly random: RandomSource;
  /** Part of the URIs of the objects; default `local`. */
  readonly container?: string;
  /** Makes no folder and removes nothing, for a folder that is only read. */
  readonly readOnly?: boolean;
}

/** Folders of files that are being written or removed. No key starts with a dot. */
const incoming = '.incoming';
const outgoing = '.outgoing';

/** A temporary file without a write for this long is abandoned. */
const leftAfterMs = 60_000;

/**
 * A put starts again when another process removes its file or folder: one that opens the store, or one that removes
 * objects.
 */
const triesMax = 8;

/** Removes files of dead processes. A live process that loses a file by this writes it again. */
export async function openFileBlobs(options: FileBlobsOptions): Promise<BlobStore> {
  const root = resolve(options.folder);
  if (options.readOnly === true) return new FileBlobs(root, options);
  try {
    await makeRoot(root);
    for (const name of [incoming, outgoing]) {
      const place = join(root, name);
      await mkdir(place, { recursive: true, mode: 0o700 });
      await clear(place, options.clock.now() - leftAfterMs);
    }
  } catch (error) {
    throw asBlobError(error);
  }
  return new FileBlobs(root, options);
}

/** Removes the files of a folder that were last changed before that time, in milliseconds since 1970. */
async function clear(folder: string, before: number): Promise<void> {
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    const found = await orIfAbsent(lstat(path), null);
    if (found !== null && found.ctimeMs < before) await rm(path, { recursive: true, force: true });
  }
}

class FileBlobs implements BlobStore {
  readonly provider = 'files';
  readonly #root: string;
  readonly #random: RandomSource;
  readonly #container: string;
  readonly #calls = new OpenCalls();

  constructor(root: string, { random, container = 'local' }: FileBlobsOptions) {
    this.#root = root;
    this.#random = random;
    this.#container = container;
  }

  put(key: string, bytes: Uint8Array, attributes: BlobAttributes): Promise<void> {
    return this.#during(async () => {
      await checkPut(key, bytes, attributes);
      for (let tries = 1; tries <= triesMax; tries++) {
        try {
          if (!(await this.#holds(key, attributes.sha256)) && !(await this.#create(key, bytes, attributes))) {
            continue;
          }
          // Also for an object that existed: its writer may have died before the name reached the disk.
          await this.#syncFoldersOf(key);
          return;
        } catch (error) {
          if (codeOf(error) !== 'ENOENT') throw error;
        }
      }
      throw new BlobError('unavailable', 'others took the folder of the object away each time');
    });
  }

  get(key: string, bytesMax: number): Promise<StoredBlob | null> {
    return this.#during(async () => {
      checkKey(key);
      return withObject(join(this.#root, key), async (file, head) => {
        checkReadable(head.sizeBytes, bytesMax);
        const { contentType, sha256, metadata } = head;
        const bytes = await readContent(file, head);
        await checkContent(bytes, sha256);
        return { bytes, contentType, sha256, metadata };
      });
    });
  }

  remove(key: string): Promise<void> {
    return this.#during(async () => {
      checkKey(key);
      const path = join(this.#root, key);
      await orIfAbsent(unlink(path), undefined);
      await orIfAbsent(syncFolder(dirname(path)), undefined);
    });
  }

  /** All at once: the folder is renamed to a temporary place and emptied there. */
  removeAll(prefix: string): Promise<number> {
    return this.#during(async () => {
      checkPrefix(prefix);
      const folder = join(this.#root, prefix);
      const taken = join(this.#root, outgoing, this.#randomName());
      const moved = await orIfAbsent(
        rename(folder, taken).then(() => true),
        false,
      );
      if (!moved) return 0;
      await orIfAbsent(syncFolder(dirname(folder)), undefined);
      const found = await orIfAbsent(readdir(taken, { recursive: true, withFileTypes: true }), []);
      // A put that was about to link its object into the folder may still do so.
      await rm(taken, { recursive: true, force: true, maxRetries: 3 });
      return found.filter((entry) => entry.isFile()).length;
    });
  }

  list(prefix: string, { limit, after = '' }: BlobListRequest): Promise<BlobPage> {
    return this.#during(async () => {
      if (prefix !== '') checkPrefix(prefix);
      checkPageSize(limit);
      const keys: string[] = [];
      for await (const key of keysUnder(this.#root, prefix, after)) {
        if (keys.length === limit) return { keys, next: keys.at(-1) ?? null };
        keys.push(key);
      }
      return { keys, next: null };
    });
  }

  uriOf(key: string): string {
    return blobUri(this.#container, key);
  }

  ping(): Promise<void> {
    return this.#during(async () => {
      await access(join(this.#root, incoming), constants.R_OK | constants.W_OK | constants.X_OK);
      if (await isFull(this.#root)) throw new BlobError('full', 'the disk of the object files is full');
    });
  }

  close(): Promise<void> {
    return this.#calls.close();
  }

  /** Whether the key holds this content. Throws `conflict` when it holds another. */
  async #holds(key: string, sha256: string): Promise<boolean> {
    const stored = await withObject(join(this.#root, key), (_, head) => Promise.resolve(head.sha256));
    if (stored !== null && stored !== sha256) throw new BlobError('conflict', 'the key holds another object');
    return stored !== null;
  }

  /**
   * The object appears under its key whole and at once, and never replaces another: `link` fails when the name exists.
   * `false`: it existed, for an object that was removed since.
   */
  async #create(key: string, bytes: Uint8Array, attributes: BlobAttributes): Promise<boolean> {
    const path = join(this.#root, key);
    const temporary = join(this.#root, incoming, this.#randomName());
    await writeDurably(temporary, [headLine(attributes, bytes.byteLength), bytes]);
    try {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      await link(temporary, path);
      return true;
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
      return await this.#holds(key, attributes.sha256);
    } finally {
      await orIfAbsent(unlink(temporary), undefined);
    }
  }

  async #syncFoldersOf(key: string): Promise<void> {
    const root = this.#root;
    for (let folder = dirname(join(root, key)); folder.length >= root.length; folder = dirname(folder)) {
      await syncFolder(folder);
    }
  }

  #randomName(): string {
    return Buffer.from(this.#random.bytes(16)).toString('hex');
  }

  #during<R>(work: () => Promise<R>): Promise<R> {
    return this.#calls.during(async () => {
      try {
        return await work();
      } catch (error) {
        throw asBlobError(error);
      }
    });
  }
}
