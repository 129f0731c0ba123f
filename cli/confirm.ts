import { createInterface } from 'node:readline/promises';
import { exitCodes, ToolError } from './output.ts';

export interface ConfirmOptions {
  readonly tenantId: string;
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
  readonly signal: AbortSignal;
}

export interface AskingOptions {
  /** `--yes`: the answer was given before. */
  readonly yes: boolean;
  readonly input: { readonly isTTY?: boolean };
}

/** Whether somebody has to be asked; throws where nobody can be. */
export function mustAsk({ yes, input }: AskingOptions): boolean {
  if (yes) return false;
  if (input.isTTY === true) return true;
  throw new ToolError(
    'A restore replaces all that the tenant has. There is no terminal to ask on: give --yes to go on, or --dry-run to see what would happen',
    exitCodes.usage,
  );
}

/** Goes on only where the tenant's name is typed, which nobody does from habit. */
export async function confirmByName({ tenantId, input, output, signal }: ConfirmOptions): Promise<void> {
  const reader = createInterface({ input, output, terminal: false });
  // Settles also when the input ends without an answer.
  const ended = new Promise<null>((settle) => reader.once('close', () => settle(null)));
  try {
    const question = reader.question('Type the name of the tenant to replace all that it has: ', { signal });
    const answer = await Promise.race([question, ended]);
    if (answer?.trim() === tenantId) return;
    throw new ToolError('The name was not typed: nothing was replaced', exitCodes.failed);
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    reader.close();
  }
}
