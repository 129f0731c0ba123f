import { loadPeer } from '../peer.ts';
import { answerOf, type CallResult, credentials, type Open, textOf } from '../session.ts';

interface Tool {
  execute(args: object, options: object): Promise<CallResult>;
}

interface AiClient {
  tools(): Promise<Readonly<Record<string, Tool>>>;
  readResource(params: object): Promise<{ readonly contents: readonly object[] }>;
  close(): Promise<void>;
}

interface Library {
  createMCPClient(config: object): Promise<AiClient>;
}

/** The AI SDK: the tools as it hands them to a model. */
export const aiSdk: Open = async (target) => {
  const library = await loadPeer<Library>(target.folder, '@ai-sdk/mcp');
  const client = await library.createMCPClient({
    transport: { type: 'http', url: target.url, headers: credentials(target) },
    ...(target.option === 'older' ? { protocolVersionDiscovery: false } : {}),
  });
  let tools: Readonly<Record<string, Tool>> = {};
  return {
    async list() {
      tools = await client.tools();
      return Object.keys(tools);
    },
    async call(name, args) {
      const tool = tools[name];
      if (tool === undefined) throw new Error(`it has no tool ${name}`);
      return answerOf(await tool.execute(args, { toolCallId: 'call', messages: [] }));
    },
    read: async (uri) => textOf(await client.readResource({ uri })),
    close: () => client.close(),
  };
};
