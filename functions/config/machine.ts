import { readFileSync } from 'node:fs';
import { type Configuration, type ConfigurationInput, loadConfiguration } from './load.ts';
import type { Host } from './setting.ts';

/** Arguments after the name of the script. */
export function commandLine(): readonly string[] {
  return process.argv.slice(2);
}

/** The configuration of this process. Only this file asks the process itself. */
export function readConfiguration(host: Host): Configuration {
  // The command line of functions-framework is its own.
  return loadConfiguration(inputOf(host, host === 'embedded' ? commandLine() : []));
}

/** The sources of a configuration on this machine, with the given arguments. */
export function inputOf(host: Host, argv: readonly string[]): ConfigurationInput {
  return { host, env: process.env, argv, readFile };
}

function readFile(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * The folder in which the user ran `npm run <script>`, to which relative paths refer: npm itself changes to the folder of
 * the package. `undefined` where the process was started in another way.
 */
export function folderOfNpmRun(script: string): string | undefined {
  const { npm_lifecycle_event: running, INIT_CWD: folder } = process.env;
  return running === script ? folder : undefined;
}

/** The function that functions-framework serves, by its option or its environment variable. */
export function functionTarget(): string | undefined {
  const at = process.argv.findIndex((argument) => /^--target(=|$)/.test(argument));
  const argument = process.argv[at];
  if (at < 0 || argument === undefined) return process.env.FUNCTION_TARGET;
  const joined = argument.indexOf('=');
  return joined >= 0 ? argument.slice(joined + 1) : process.argv[at + 1];
}
