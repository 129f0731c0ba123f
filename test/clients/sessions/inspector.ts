import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { answerOf, type CallResult, type Open, textOf } from '../session.ts';

const run = promisify(execFile);

/** The inspector on the command line: each request is a connection of its own. */
export const inspector: Open = ({ url, key, folder, option }) => {
  const program = resolve(
    folder,
    'node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js',
  );
  const target = [
    '--cli',
    url,
    '--transport',
    'http',
    '--protocol-era',
    option,
    '--header',
    `X-Svc-Api-Key: ${key}`,
  ];
  async function ask<Result>(...args: readonly string[]): Promise<Result> {
    const { stdout } = await run(process.execPath, [program, ...target, ...args], {
      env: { ...process.env, HOME: process.env['SVC_CLIENT_HOME'] },
      maxBuffer: 16 * 1024 * 1024,
    }).catch((error: { readonly stderr?: string }) => {
      throw new Error(error.stderr?.trim().split('\n').at(-1) || 'the inspector failed without a word');
    });
    return JSON.parse(stdout) as Result;
  }
  return Promise.resolve({
    list: async () => {
      const { tools } = await ask<{ tools: readonly { name: string }[] }>(
        '--method',
        'tools/list',
        '--strict',
      );
      return tools.map(({ name }) => name);
    },
    call: async (name, args) => {
      const pairs = Object.entries(args).map(([member, value]) => `${member}=${String(value)}`);
      const given = pairs.length === 0 ? [] : ['--tool-arg', ...pairs];
      return answerOf(await ask<CallResult>('--method', 'tools/call', '--tool-name', name, ...given));
    },
    read: async (uri) =>
      textOf(await ask<{ contents: readonly object[] }>('--method', 'resources/read', '--uri', uri)),
    close: () => Promise.resolve(),
  });
};
