import { loadPeer } from '../peer.ts';
import { credentials, type Open } from '../session.ts';

interface Message {
  readonly content: unknown;
  readonly artifact?: unknown;
  readonly status?: string;
}

interface Tool {
  readonly name: string;
  invoke(call: object): Promise<Message>;
}

interface Adapters {
  getTools(): Promise<readonly Tool[]>;
  readResource(server: string, uri: string): Promise<readonly { readonly text?: string }[]>;
  close(): Promise<void>;
}

/** The adapters of LangChain: the tools as they hand them to a model. */
export const langchain: Open = async (target) => {
  const { MultiServerMCPClient } = await loadPeer<{ MultiServerMCPClient: new (config: object) => Adapters }>(
    target.folder,
    '@langchain/mcp-adapters',
  );
  const svc = {
    transport: 'http',
    url: target.url,
    headers: credentials(target),
    automaticSSEFallback: false,
  };
  const client = new MultiServerMCPClient({ mcpServers: { svc } });
  let tools: readonly Tool[] = [];
  return {
    async list() {
      tools = await client.getTools();
      return tools.map(({ name }) => name);
    },
    async call(name, args) {
      const tool = tools.find((each) => each.name === name);
      if (tool === undefined) throw new Error(`it has no tool ${name}`);
      const message = await tool.invoke({ type: 'tool_call', id: 'call', name, args });
      const text = typeof message.content === 'string' ? message.content : JSON.stringify(message.content);
      if (message.status === 'error') throw new Error(`the tool answers an error: ${text}`);
      return { text, structured: structuredOf(message.artifact) };
    },
    read: async (uri) => (await client.readResource('svc', uri)).map(({ text }) => text ?? '').join('\n'),
    close: () => client.close(),
  };
};

/** The adapters put structured content beside the message. */
function structuredOf(artifact: unknown): unknown {
  const parts = Array.isArray(artifact) ? artifact : [artifact];
  return (parts as readonly { readonly structuredContent?: unknown }[]).find(
    (part) => part?.structuredContent !== undefined,
  )?.structuredContent;
}
