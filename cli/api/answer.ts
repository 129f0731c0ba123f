import { createWriteStream } from 'node:fs';
import { realpath, rename, rm, stat } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { parseJson } from '../../functions/kernel/json-text.ts';
import { jsonText, type OutputForm, printLine, ToolError } from '../output.ts';
import { printable } from '../remote/printable.ts';
import { mediaTypeOf, type Remote } from '../remote.ts';
import { answerTable } from './table.ts';

export interface AnswerTarget {
  readonly output: OutputForm;
  /** A file instead of standard output. */
  readonly out?: string | undefined;
  /** Whether standard output is a terminal. */
  readonly terminal: boolean;
  /** The widest line of a table. */
  readonly width: number;
}

/** Writes an answer to its target. JSON for a program passes unchanged, byte for byte, at any size. */
export async function deliver(remote: Remote, answer: IncomingMessage, target: AnswerTarget): Promise<void> {
  const type = mediaTypeOf(answer);
  const isJson = /^application\/(?:[\w.-]+\+)?json$/.test(type);
  if (target.out !== undefined) return writeFile(remote.chunksOf(answer), target.out);
  if (isJson && (target.output === 'table' || target.terminal)) {
    const text = (await remote.bodyOf(answer)).toString('utf8');
    if (text !== '')
      printLine(
        target.output === 'table' ? answerTable(parseJson(text), target.width) : jsonText(parseJson(text)),
      );
    return;
  }
  if (target.terminal && !type.startsWith('text/') && answer.statusCode !== 204) {
    throw new ToolError(
      `The answer is ${type === '' ? 'of no type' : printable(type)}; give --out FILE to keep it.`,
    );
  }
  const chunks = remote.chunksOf(answer);
  await pass(target.terminal ? textForTerminal(chunks) : chunks, process.stdout, isJson ? '\n' : '');
}

/** Text for a person: control characters other than tabs and line ends are escaped, so that nothing moves the cursor. */
async function* textForTerminal(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const decoder = new TextDecoder();
  for await (const chunk of chunks)
    yield Buffer.from(printable(decoder.decode(chunk, { stream: true }), '\n\t'));
  yield Buffer.from(printable(decoder.decode(), '\n\t'));
}

/** Leave standard output open: other code still writes to it. */
async function pass(chunks: AsyncIterable<Buffer>, output: Writable, end: string): Promise<void> {
  let empty = true;
  async function* withEnd() {
    for await (const chunk of chunks) {
      empty = false;
      yield chunk;
    }
    if (!empty && end !== '') yield Buffer.from(end);
  }
  await pipeline(Readable.from(withEnd()), output, { end: false });
}

/**
 * Writes the file under a draft name and renames it, so that it is complete or absent. Only its owner may read it,
 * since answers hold tenant data. A pipe or a device such as /dev/null is written directly.
 */
async function writeFile(chunks: AsyncIterable<Buffer>, path: string): Promise<void> {
  const there = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    return undefined;
  });
  if (there !== undefined && !there.isFile()) {
    return pipeline(Readable.from(chunks), createWriteStream(path, { flags: 'w' }));
  }
  // Replace the target of a symbolic link, not the link.
  const place = there === undefined ? path : await realpath(path);
  const partial = `${place}.${process.pid}.part`;
  try {
    await pipeline(
      Readable.from(chunks),
      createWriteStream(partial, { flags: 'wx', mode: 0o600, flush: true }),
    );
    await rename(partial, place);
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
}
