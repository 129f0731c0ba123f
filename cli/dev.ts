import { Command } from 'commander';
import type { DevOptions } from './dev/run.ts';

/** `svc dev` and `svc-server dev`: a Development server with the handlers of one module. */
export function devCommand(): Command {
  return new Command('dev')
    .description('runs a Development server and the handlers of a file, which a change reloads')
    .usage('[options] [worker] [--settings FILE] [--Section:Key=value …]')
    .argument('[worker]', 'module that exports handlers (.ts, .mts, .js, .mjs, .cjs)')
    .argument('[settings...]', 'settings of the server, such as --Records:Enabled=false or --settings FILE')
    .option('--port <number>', 'port of the server; 0 takes a free one (default: 5220)')
    .option('--seed', 'stores sample documents and events of two tenants; a second time changes nothing')
    .option('--reset', 'removes the data of this folder first, after a question')
    .option('--yes', 'removes it without the question')
    .option('--open', 'shows the documentation of the service in the browser')
    .allowUnknownOption()
    .addHelpText('after', examples)
    .action(async (_worker: unknown, _settings: unknown, options: DevOptions, command: Command) => {
      const { dev } = await import('./dev/run.ts');
      return dev(command.args, options);
    });
}

const examples = `
Development only: on loopback, without credentials, with the documentation at /docs and MCP at /mcp. The data is in .svc of this
folder. Settings come from svcsettings.json, the environment and the command line, as for the server: svc-server --help lists them.

The file exports its handlers by id. A handler gets its run, and its return value is the result:

  // worker.ts
  export const handlers = {
    hello: async ({ payload }) => ({ greeting: \`Hello, \${payload.name}\` }),
  };

A change of the file, or of a file that it imports, reloads the handlers; runs that wait go on with the new code. Ctrl-C gives
the runs under way back and stops the server.

Examples:
  $ svc-server dev
  $ svc-server dev worker.ts --port 0
  $ svc-server dev worker.ts --reset --yes --seed`;
