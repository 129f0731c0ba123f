import { exitCodes, ToolError } from '../output.ts';
import type { Inputs } from './inputs.ts';

/** The sources of a credential. Other users of the machine cannot see files and the environment. */
export interface CredentialGiven {
  /** The text itself, from the command line or the environment. */
  readonly text?: string | undefined;
  /** `-` is standard input. */
  readonly file?: string | undefined;
  /** Whether the text was on the command line. */
  readonly onCommandLine: boolean;
}

export interface CredentialKind {
  readonly name: string;
  /** The option that takes it in clear text. */
  readonly option: string;
  readonly pattern: RegExp;
}

// The characters that the service accepts in a key, and those of a token in RFC 6750 section 2.1.
export const apiKeyKind: CredentialKind = {
  name: 'The API key',
  option: '--api-key',
  pattern: /^[\x21-\x7e]{1,512}$/,
};
export const identityTokenKind: CredentialKind = {
  name: 'The identity token',
  option: '--identity-token',
  pattern: /^[A-Za-z0-9._~+/-]{1,16384}=*$/,
};

/**
 * Returns the credential, or `undefined` if none was given. An option overrides the environment; two options for one
 * credential are refused. Messages never contain it.
 */
export async function readCredential(
  kind: CredentialKind,
  given: CredentialGiven,
  inputs: Inputs,
): Promise<string | undefined> {
  const text = given.text === '' ? undefined : given.text;
  if (given.file !== undefined && text !== undefined && given.onCommandLine) {
    throw new ToolError(
      `${kind.name} is given twice: ${kind.option} and ${kind.option}-file.`,
      exitCodes.usage,
    );
  }
  const from = given.file === undefined ? '' : ` in ${given.file === '-' ? 'standard input' : given.file}`;
  const read = given.file === undefined ? text : (await inputs.read(given.file)).toString('utf8').trim();
  if (read === undefined) return undefined;
  if (!kind.pattern.test(read)) {
    const why = read === '' ? 'is empty' : 'holds a character that it cannot hold, or is too long';
    throw new ToolError(`${kind.name}${from} ${why}.`, exitCodes.usage);
  }
  if (given.onCommandLine && given.file === undefined) {
    const instead = `${kind.option}-file or ${variableOf(kind)}`;
    inputs.warn(
      `Other users of this machine can see ${kind.option} in the list of processes; use ${instead}.`,
    );
  }
  return read;
}

function variableOf({ option }: CredentialKind): string {
  return `SVC_${option.slice(2).replaceAll('-', '_').toUpperCase()}`;
}
