import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { answerOf, credentials, type Open, type Session, textOf } from '../session.ts';

/** The official client over HTTP, and over pipes as a desktop program. */

const info = { name: 'tried', version: '1.0.0' };
type Options = ConstructorParameters<typeof Client>[1];

const modes: Readonly<Record<string, Options>> = {
  default: {},
  auto: { versionNegotiation: { mode: 'auto' } },
  pinned: { versionNegotiation: { mode: { pin: '2026-07-28' } } },
};

export const overHttp: Open = async (target) => {
  const client = new Client(info, modes[target.option]);
  const requestInit = { headers: credentials(target) };
  await client.connect(new StreamableHTTPClientTransport(new URL(target.url), { requestInit }));
  return sessionOf(client);
};

/** The client starts the command, and speaks with it. */
export async function overPipes(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  mode: string,
): Promise<Session> {
  const client = new Client(info, modes[mode]);
  const command = { command: process.execPath, args: [...args], stderr: 'ignore' as const };
  await client.connect(
    new StdioClientTransport({ ...command, env: { ...env, PATH: process.env['PATH'] ?? '' } }),
  );
  return sessionOf(client);
}

function sessionOf(client: Client): Session {
  return {
    list: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, args) => answerOf(await client.callTool({ name, arguments: { ...args } })),
    read: async (uri) => textOf(await client.readResource({ uri })),
    close: () => client.close(),
  };
}
