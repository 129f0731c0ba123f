import { Command } from 'commander';
import type { DevOptions } from './dev/run.ts';
import { exitCodes, ToolError } from './output.ts';

/** `svc dev` and `svc-server dev`: a Development server with the handlers of one module. */
export function devCommand(): Command {
  return new Command('dev')
    .description('runs a Development server and the handlers of a file, which a change reloads')
    .usage('[options] [worker] [--Key=value …]')
    .argument('[worker]', 'module that exports handlers: export const handlers = { hello: async (run) => … }')
    .argument('[settings...]', 'settings of the server, such as --Records:Enabled=false')
    .option('--port <number>', 'port of the server; 0 takes a free one')
    .option('--seed', 'stores sample documents and events of two tenants')
    .option('--reset', 'removes the data of this folder first, after a question')
    .option('--yes', 'removes it without the question')
    .option('--open', 'shows the documentation of the service in the browser')
    .allowUnknownOption()
    .addHelpText('after', examples)
    .action(
      async (
        _worker: string | undefined,
        _settings: readonly string[],
        options: DevOptions,
        command: Command,
      ) => {
        const { worker, settings } = argumentsOf(command.args);
        const { dev } = await import('./dev/run.ts');
        return dev(worker, settings, options);
      },
    );
}

/** Settings are written with their key and an equals sign; the one other word is the module. */
export function argumentsOf(words: readonly string[]): {
  readonly worker: string | null;
  readonly settings: readonly string[];
} {
  const settings = words.filter((word) => word.startsWith('-'));
  const other = settings.find((word) => !/^--[A-Za-z][^=]*:[^=]*=|^--Environment=/.test(word));
  if (other !== undefined)
    throw new ToolError(
      `${other.split('=', 1).join('')} is no option of dev; settings are written --Section:Key=value`,
      exitCodes.usage,
    );
  const files = words.filter((word) => !word.startsWith('-'));
  if (files.length > 1) throw new ToolError(`dev runs one file, not ${files.length}`, exitCodes.usage);
  return { worker: files[0] ?? null, settings };
}

const examples = `
Development only: on loopback, without credentials, with the documentation at /docs and MCP at /mcp. The data is in .svc of this
folder. A handler gets its run, and its return value is the result:

  // worker.ts
  export const handlers = {
    hello: async ({ payload }) => ({ greeting: \`Hello, \${payload.name}\` }),
  };

Examples:
  $ svc-server dev
  $ svc-server dev worker.ts --port 0
  $ svc-server dev worker.ts --reset --yes --seed`;
