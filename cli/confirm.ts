import { createInterface } from 'node:readline/promises';
import { exitCodes, ToolError } from './output.ts';

export interface ConfirmOptions {
  readonly tenantId: string;
  /** Default: says that all data of the tenant will be replaced. */
  readonly question?: string;
  /** The sentence printed after a mistyped name. Default: says that nothing was replaced. */
  readonly kept?: string;
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
  readonly signal: AbortSignal;
}

export interface AskingOptions {
  /** `--yes`: skips the confirmation. */
  readonly yes: boolean;
  readonly input: { readonly isTTY?: boolean };
  /** Default: that a restore replaces the tenant. */
  readonly effect?: string;
}

const RESTORE = 'A restore replaces the whole content of the tenant.';

/** Whether a confirmation is needed; throws if it is needed and there is no terminal. */
export function mustAsk({ yes, input, effect = RESTORE }: AskingOptions): boolean {
  if (yes) return false;
  if (input.isTTY === true) return true;
  throw new ToolError(
    `${effect} There is no terminal for the confirmation: give --yes to go on, or --dry-run to see the effect`,
    exitCodes.usage,
  );
}

/** Asks for the tenant's name: typing a name, unlike `y`, does not become a habit. */
export async function confirmByName({
  tenantId,
  input,
  output,
  signal,
  question: asked = 'Type the name of the tenant to replace all that it has: ',
  kept = 'nothing was replaced',
}: ConfirmOptions): Promise<void> {
  const reader = createInterface({ input, output, terminal: false });
  // Also settles if the input ends without an answer.
  const ended = new Promise<null>((settle) => reader.once('close', () => settle(null)));
  try {
    const question = reader.question(asked, { signal });
    const answer = await Promise.race([question, ended]);
    if (answer?.trim() === tenantId) return;
    throw new ToolError(`The name was not typed: ${kept}`, exitCodes.failed);
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    reader.close();
  }
}
