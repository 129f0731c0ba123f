/**
 * Serves the tools of the contract with answers that cost nothing: `own` with the endpoint of this project, `official <folder>`
 * with the official server library of that folder. Prints its address.
 */
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import definitions from '../../contracts/generated/mcp/definitions.json' with { type: 'json' };
import { machine } from '../../functions/compose/machine.ts';
import { serveNode } from '../../functions/http/host-node.ts';
import type { JsonObject } from '../../functions/kernel/canonical-json.ts';
import { PageTokens } from '../../functions/kernel/page-token.ts';
import type { McpTool, ToolDefinition } from '../../functions/mcp/catalog.ts';
import { createMcpEndpoint } from '../../functions/mcp/endpoint.ts';

/** The definitions without the schemas of answers, which the library would check and the endpoint does not. */
const tools = definitions.definitions.flatMap(({ exposure, definition }) => {
  const { outputSchema: _schema, ...rest } = definition as unknown as ToolDefinition;
  return exposure === 'resource' ? [] : [rest];
});
const content: readonly JsonObject[] = [{ type: 'text', text: '{"items":[]}' }];
const serverInfo = { name: 'bench', version: '1.0.0' };

const serve: Readonly<Record<string, (folder: string) => Promise<string>>> = {
  async own() {
    const key = machine.random.bytes(32);
    const offered = tools.map(
      (definition): McpTool => ({
        definition,
        call: () => Promise.resolve({ resultType: 'complete', content }),
      }),
    );
    const chain = createMcpEndpoint({
      catalog: { serverInfo, contentVersion: '1', tools: () => Promise.resolve(offered) },
      tokens: new PageTokens(() => Promise.resolve(key)),
      authenticate: () => Promise.resolve({ kind: 'development', principal: null }),
      world: machine,
      log: () => {},
      bodyBytesMax: 1024 * 1024,
      loopbackHostsOnly: true,
    });
    return (await serveNode(chain, { host: '127.0.0.1', port: 0, world: machine })).url;
  },
  async official(folder) {
    const from = createRequire(join(folder, 'package.json'));
    const load = async (name: string) => (await import(pathToFileURL(from.resolve(name)).href)) as Library;
    const [library, node] = await Promise.all([
      load('@modelcontextprotocol/server'),
      load('@modelcontextprotocol/node'),
    ]);
    const schemas = tools.map(({ inputSchema }) => library.fromJsonSchema(inputSchema));
    // The library makes a server for each request, also for one of an older revision, for which it keeps no session either.
    const handler = library.createMcpHandler(() => {
      const server = new library.McpServer(serverInfo);
      for (const [at, { name, inputSchema: _schema, ...rest }] of tools.entries())
        server.registerTool(name, { ...rest, inputSchema: schemas[at] }, () => Promise.resolve({ content }));
      return server;
    });
    const listener = createServer(node.toNodeHandler(handler));
    await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(listener.address() as AddressInfo).port}`;
  },
};

/** The parts of the library that the benchmark uses; the project does not install it. */
interface Library {
  readonly McpServer: new (
    info: object,
  ) => { registerTool(name: string, config: object, call: () => Promise<object>): void };
  readonly fromJsonSchema: (schema: object) => object;
  readonly createMcpHandler: (factory: () => object) => object;
  readonly toNodeHandler: (handler: object) => Parameters<typeof createServer>[1];
}

const [kind = '', folder = ''] = process.argv.slice(2);
console.log(`${await serve[kind]?.(folder)}/mcp`);
