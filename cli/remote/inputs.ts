import { readFile, stat } from 'node:fs/promises';
import { ByteBlocks } from '../../functions/kernel/byte-blocks.ts';
import { exitCodes, ToolError, warn } from '../output.ts';

/** The inputs of a command besides its arguments. */
export interface Inputs {
  /** The content of a file; `-` is standard input, which can be read once. `bytesMax` limits the size. */
  read(path: string, bytesMax?: number): Promise<Buffer>;
  warn(text: string): void;
}

export function processInputs(): Inputs {
  let stdinTaken = false;
  return {
    warn,
    async read(path, bytesMax = Number.POSITIVE_INFINITY) {
      if (path !== '-') return readWithin(path, bytesMax);
      if (stdinTaken) {
        throw new ToolError('Standard input (-) can be read once, and two options name it.', exitCodes.usage);
      }
      stdinTaken = true;
      return readStdin(bytesMax);
    },
  };
}

async function readWithin(path: string, bytesMax: number): Promise<Buffer> {
  // Check a known size first, so that an oversized file is not read.
  const found = await stat(path);
  if (found.isDirectory()) throw new ToolError(`${path}: is a folder; name the file in it`);
  if (found.size > bytesMax) throw tooLarge(path, bytesMax);
  const content = await readFile(path);
  if (content.length > bytesMax) throw tooLarge(path, bytesMax);
  return content;
}

async function readStdin(bytesMax: number): Promise<Buffer> {
  const blocks = new ByteBlocks();
  for await (const chunk of process.stdin) {
    blocks.add(chunk as Buffer);
    if (blocks.size > bytesMax) throw tooLarge('Standard input', bytesMax);
  }
  return blocks.whole();
}

function tooLarge(source: string, bytesMax: number): ToolError {
  return new ToolError(
    `${source} is larger than the ${bytesMax.toLocaleString('en')} bytes that may be sent.`,
  );
}
