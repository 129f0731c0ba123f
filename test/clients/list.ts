/** The clients that are tried, with the versions that are pinned here or in the lock file. */

export interface ClientMode {
  readonly words: string;
  /** What its session takes. */
  readonly option: string;
}

export interface TriedClient {
  /** The name for `--only`, and of its folder. */
  readonly name: string;
  readonly title: string;
  /** `project`: a dependency of the project, or the project itself. */
  readonly from: 'project' | 'npm' | 'pip';
  /** The first is the client; the others are what it needs beside itself. */
  readonly packages: readonly { readonly name: string; readonly version?: string }[];
  /** The session of `client-child.ts`, or the argument of `python_client.py`. */
  readonly session: string;
  readonly modes: readonly ClientMode[];
}

const asItIs = 'as it is';
const pinned = 'pinned to 2026-07-28';

export const triedClients: readonly TriedClient[] = [
  {
    name: 'client',
    title: '`@modelcontextprotocol/client`',
    from: 'project',
    packages: [{ name: '@modelcontextprotocol/client' }],
    session: 'official',
    modes: [
      { words: asItIs, option: 'default' },
      { words: '`auto`', option: 'auto' },
      { words: pinned, option: 'pinned' },
    ],
  },
  {
    name: 'svc',
    title: '`svc mcp serve`, started by the official client',
    from: 'project',
    packages: [{ name: 'svc' }],
    session: 'svc',
    modes: [
      { words: asItIs, option: 'default' },
      { words: '`auto`', option: 'auto' },
      { words: pinned, option: 'pinned' },
    ],
  },
  {
    name: 'inspector',
    title: '`@modelcontextprotocol/inspector --cli`',
    from: 'project',
    packages: [{ name: '@modelcontextprotocol/inspector' }],
    session: 'inspector',
    modes: [
      { words: asItIs, option: 'legacy' },
      { words: '`--protocol-era auto`', option: 'auto' },
      { words: '`--protocol-era modern`', option: 'modern' },
    ],
  },
  {
    name: 'sdk',
    title: '`@modelcontextprotocol/sdk`',
    from: 'npm',
    packages: [{ name: '@modelcontextprotocol/sdk', version: '1.32.2' }],
    session: 'older-sdk',
    modes: [{ words: asItIs, option: 'default' }],
  },
  {
    name: 'ai-sdk',
    title: 'AI SDK, `@ai-sdk/mcp`',
    from: 'npm',
    packages: [
      { name: '@ai-sdk/mcp', version: '2.0.99' },
      { name: 'ai', version: '7.0.173' },
    ],
    session: 'ai-sdk',
    modes: [
      { words: asItIs, option: 'default' },
      { words: '`protocolVersionDiscovery: false`', option: 'older' },
    ],
  },
  {
    name: 'ai-sdk-1',
    title: 'AI SDK, `@ai-sdk/mcp`',
    from: 'npm',
    packages: [
      { name: '@ai-sdk/mcp', version: '1.0.102' },
      { name: 'zod', version: '4.6.7' },
    ],
    session: 'ai-sdk',
    modes: [{ words: asItIs, option: 'default' }],
  },
  {
    name: 'agents',
    title: 'OpenAI agents, `@openai/agents`',
    from: 'npm',
    packages: [
      { name: '@openai/agents', version: '0.20.0' },
      { name: 'zod', version: '4.6.7' },
    ],
    session: 'agents',
    modes: [
      { words: asItIs, option: 'default' },
      { words: '`convertSchemasToStrict`', option: 'strict' },
    ],
  },
  {
    name: 'langchain',
    title: 'LangChain, `@langchain/mcp-adapters`',
    from: 'npm',
    packages: [
      { name: '@langchain/mcp-adapters', version: '1.1.4' },
      { name: '@langchain/core', version: '1.4.0' },
    ],
    session: 'langchain',
    modes: [{ words: asItIs, option: 'default' }],
  },
  {
    name: 'mcp-remote',
    title: '`mcp-remote`, started by the official client',
    from: 'npm',
    packages: [{ name: 'mcp-remote', version: '0.15.1' }],
    session: 'mcp-remote',
    modes: [
      { words: asItIs, option: 'default' },
      { words: '`--protocol auto`', option: 'auto' },
    ],
  },
  {
    name: 'python-mcp',
    title: 'Python, `mcp`',
    from: 'pip',
    packages: [{ name: 'mcp', version: '2.3.0' }],
    session: 'mcp',
    modes: [
      { words: asItIs, option: 'auto' },
      { words: '`mode="legacy"`', option: 'legacy' },
    ],
  },
  {
    name: 'python-fastmcp',
    title: 'Python, `fastmcp`',
    from: 'pip',
    packages: [{ name: 'fastmcp', version: '4.0.10' }],
    session: 'fastmcp',
    modes: [
      { words: asItIs, option: 'auto' },
      { words: '`mode="legacy"`', option: 'legacy' },
      { words: '`create_proxy`', option: 'proxy' },
    ],
  },
];
