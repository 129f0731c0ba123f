import { createInterface } from 'node:readline/promises';
import { exitCodes, ToolError } from './output.ts';

export interface ConfirmOptions {
  readonly tenantId: string;
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
  readonly signal: AbortSignal;
}

export interface AskingOptions {
  /** `--yes`: skips the confirmation. */
  readonly yes: boolean;
  readonly input: { readonly isTTY?: boolean };
}

/** Whether a confirmation is needed; throws if it is needed and there is no terminal. */
export function mustAsk({ yes, input }: AskingOptions): boolean {
  if (yes) return false;
  if (input.isTTY === true) return true;
  throw new ToolError(
    'A restore replaces the whole content of the tenant. There is no terminal for the confirmation: give --yes to go on, or --dry-run to see the effect',
    exitCodes.usage,
  );
}

/** Asks for the tenant's name: typing a name, unlike `y`, does not become a habit. */
export async function confirmByName({ tenantId, input, output, signal }: ConfirmOptions): Promise<void> {
  const reader = createInterface({ input, output, terminal: false });
  // Also settles if the input ends without an answer.
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
