import type { OperationEntry, OperationRoute } from '../../contracts/operation.ts';
import { exitCodes, ToolError } from '../output.ts';
import type { Inputs } from '../remote/inputs.ts';

/**
 * The bytes of `--body`: the JSON itself, `@file`, or `@-` for standard input. They are sent unchanged; the service
 * validates them.
 */
export async function readBody(
  {
    id,
    entry,
    route,
  }: { readonly id: string; readonly entry: OperationEntry; readonly route: OperationRoute },
  given: string | undefined,
  inputs: Inputs,
): Promise<Buffer | null> {
  const limit = route.bodyFromParameters ? null : entry.bodyLimitBytes;
  if (given === undefined) return null;
  if (limit === null) throw new ToolError(`The operation ${id} takes no body.`, exitCodes.usage);
  if (given.startsWith('@')) return inputs.read(given.slice(1), limit);
  return Buffer.from(given);
}
