import { existsSync } from 'node:fs';
import { type FileHandle, open, readFile, truncate } from 'node:fs/promises';
import { exitCodes, ToolError } from '../../output.ts';
import { type BulkFile, type BulkHeader, type BulkResult, lineOf, readResults } from './results.ts';

/** The file of results that exists; null without one. */
export async function readResultsFile(path: string): Promise<BulkFile | null> {
  return existsSync(path) ? readResults(await readFile(path, 'utf8'), path) : null;
}

/** Appends the results of a command, one after the other. */
export class ResultsFile {
  readonly #handle: FileHandle;
  #last: Promise<unknown> = Promise.resolve();

  private constructor(handle: FileHandle) {
    this.#handle = handle;
  }

  /** Makes the file, which only its owner can read. */
  static async begin(path: string, header: BulkHeader): Promise<ResultsFile> {
    const handle = await open(path, 'ax', 0o600).catch((error: unknown) => {
      const reason = error instanceof Error ? error.message : String(error);
      throw new ToolError(`${path} cannot be made: ${reason}`, exitCodes.failed, { cause: error });
    });
    await handle.appendFile(lineOf(header));
    return new ResultsFile(handle);
  }

  /** Opens a file that was read, and removes the part of a line at its end. */
  static async continue(path: string, { wholeLength }: BulkFile): Promise<ResultsFile> {
    const text = await readFile(path, 'utf8');
    await truncate(path, Buffer.byteLength(text.slice(0, wholeLength)));
    return new ResultsFile(await open(path, 'a'));
  }

  append(result: BulkResult): Promise<void> {
    const written = this.#last.then(() => this.#handle.appendFile(lineOf(result)));
    this.#last = written.catch(() => undefined);
    return written;
  }

  async close(): Promise<void> {
    await this.#last;
    await this.#handle.close();
  }
}
