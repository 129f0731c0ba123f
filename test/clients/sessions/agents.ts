import { loadPeer } from '../peer.ts';
import { answerOf, credentials, type Open, textOf } from '../session.ts';

interface AgentsServer {
  connect(): Promise<void>;
  callTool(name: string, args: object): Promise<unknown>;
  readResource(uri: string): Promise<{ readonly contents: readonly object[] }>;
  close(): Promise<void>;
}

interface Library {
  readonly MCPServerStreamableHttp: new (options: object) => AgentsServer;
  getAllMcpTools(options: object): Promise<readonly { readonly name: string }[]>;
}

/** The OpenAI agents: the tools as it hands them to a model. */
export const agents: Open = async (target) => {
  const library = await loadPeer<Library>(target.folder, '@openai/agents');
  const requestInit = { headers: credentials(target) };
  const server = new library.MCPServerStreamableHttp({ url: target.url, name: 'svc', requestInit });
  await server.connect();
  const convertSchemasToStrict = target.option === 'strict';
  return {
    list: async () =>
      (await library.getAllMcpTools({ mcpServers: [server], convertSchemasToStrict })).map(
        ({ name }) => name,
      ),
    call: async (name, args) => answerOf({ content: await server.callTool(name, args) }),
    read: async (uri) => textOf(await server.readResource(uri)),
    close: () => server.close(),
  };
};
