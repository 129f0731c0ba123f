import { randomBytes } from 'node:crypto';
import { basename } from 'node:path';
import type { OperationEntry } from '../../contracts/operation.ts';
import { exitCodes, ToolError } from '../output.ts';
import type { Inputs } from '../remote/inputs.ts';

/** A body with its media type. */
export interface TypedBody {
  readonly type: string;
  readonly bytes: Buffer;
}

const BOUNDARY_BYTES = 16;

/** Whether the operation takes a form of parts (RFC 7578). */
export function takesForm({ requestMediaType }: Pick<OperationEntry, 'requestMediaType'>): boolean {
  return requestMediaType === 'multipart/form-data';
}

/**
 * The form of `--part name=value`: the JSON itself, `@file`, or `@-` for standard input; a part of bytes is a file or standard input. The
 * parts go out in the order of the contract; the service validates them.
 */
export async function readForm(
  { entry }: { readonly entry: OperationEntry },
  given: readonly string[],
  inputs: Inputs,
  boundary = randomBytes(BOUNDARY_BYTES).toString('hex'),
): Promise<TypedBody> {
  const { parts = [], bodyLimitBytes } = entry;
  const named = new Map(given.map((text) => split(text)));
  const unknown = [...named.keys()].find((name) => !parts.some((part) => part.name === name));
  if (unknown !== undefined || named.size < given.length) {
    const names = parts.map(({ name }) => name).join(', ');
    throw new ToolError(`--part names each of ${names} once.`, exitCodes.usage);
  }
  const sections: Buffer[] = [];
  for (const { name, kind } of parts) {
    const value = named.get(name);
    if (value === undefined) continue;
    const isFile = value.startsWith('@');
    if (kind === 'bytes' && !isFile)
      throw new ToolError(`The part ${name} is bytes: --part ${name}=@file`, exitCodes.usage);
    const bytes = isFile ? await inputs.read(value.slice(1), bodyLimitBytes ?? 0) : Buffer.from(value);
    const place = kind === 'bytes' ? `; filename="${fileName(value.slice(1), name)}"` : '';
    const type = kind === 'bytes' ? 'application/octet-stream' : 'application/json';
    sections.push(
      Buffer.from(
        `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${place}\r\nContent-Type: ${type}\r\n\r\n`,
      ),
      bytes,
      Buffer.from('\r\n'),
    );
  }
  const bytes = Buffer.concat([...sections, Buffer.from(`--${boundary}--\r\n`)]);
  return { type: `multipart/form-data; boundary=${boundary}`, bytes };
}

function split(text: string): [name: string, value: string] {
  const at = text.indexOf('=');
  if (at > 0) return [text.slice(0, at), text.slice(at + 1)];
  throw new ToolError(`--part is name=value, not ${text}`, exitCodes.usage);
}

/** Without what could end the field. */
function fileName(path: string, otherwise: string): string {
  const name = basename(path).replaceAll(/["\\\p{Cc}]/gu, '_');
  return path === '-' || name === '' ? otherwise : name;
}
