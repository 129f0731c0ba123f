import { resolve } from 'node:path';
import type { Open } from '../session.ts';
import { overPipes } from './official.ts';

/** Programs between a desktop program, here the official client, and the endpoint. */

const main = resolve(import.meta.dirname, '../../../cli/main.ts');

export const svcServe: Open = ({ server, keyFile, option }) =>
  overPipes([main, 'mcp', 'serve', '--server', server, '--api-key-file', keyFile], {}, option);

export const mcpRemote: Open = ({ url, key, folder, option }) => {
  const program = resolve(folder, 'node_modules/mcp-remote/dist/proxy.js');
  const header = ['--header', 'X-Svc-Api-Key:${SVC_KEY}'];
  const args = [program, url, '--allow-http', '--transport', 'http-only', ...header];
  // The bridge keeps the tokens of OAuth in a folder of its own.
  const env = { SVC_KEY: key, HOME: folder, MCP_REMOTE_CONFIG_DIR: resolve(folder, 'config') };
  return overPipes(option === 'auto' ? [...args, '--protocol', 'auto'] : args, env, 'default');
};
