import { loadPeer } from '../peer.ts';
import { answerOf, type CallResult, credentials, type Open, textOf } from '../session.ts';

interface OldClient {
  connect(transport: object): Promise<void>;
  listTools(): Promise<{ readonly tools: readonly { readonly name: string }[] }>;
  callTool(params: object): Promise<CallResult>;
  readResource(params: object): Promise<{ readonly contents: readonly object[] }>;
  close(): Promise<void>;
}

/** Version 1 of the official library. */
export const olderSdk: Open = async (target) => {
  const { Client } = await loadPeer<{ Client: new (info: object) => OldClient }>(
    target.folder,
    '@modelcontextprotocol/sdk/client/index.js',
  );
  const { StreamableHTTPClientTransport } = await loadPeer<{
    StreamableHTTPClientTransport: new (url: URL, options: object) => object;
  }>(target.folder, '@modelcontextprotocol/sdk/client/streamableHttp.js');
  const client = new Client({ name: 'tried', version: '1.0.0' });
  const requestInit = { headers: credentials(target) };
  await client.connect(new StreamableHTTPClientTransport(new URL(target.url), { requestInit }));
  return {
    list: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, args) => answerOf(await client.callTool({ name, arguments: args })),
    read: async (uri) => textOf(await client.readResource({ uri })),
    close: () => client.close(),
  };
};
