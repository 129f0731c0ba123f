import { randomUUID } from 'node:crypto';
import { machine } from '../../functions/compose/machine.ts';
import { serveNode } from '../../functions/http/host-node.ts';
import { PageTokens } from '../../functions/kernel/page-token.ts';
import { createMcpEndpoint } from '../../functions/mcp/endpoint.ts';
import { acceptanceCatalog } from './acceptance-catalog.ts';
import { MemoryTasks } from './acceptance-tasks.ts';

/**
 * Serves the acceptance catalog on a free port of this machine, for the official conformance scenarios:
 *
 *     node test/mcp/conformance-server.ts
 *     npx @modelcontextprotocol/conformance@0.2.0-alpha.12 server --url <the printed address> --requirements 2026-07-28
 */
export async function serveAcceptance(): Promise<{ url: string; stop: () => Promise<void> }> {
  const key = machine.random.bytes(32);
  const chain = createMcpEndpoint({
    catalog: acceptanceCatalog(new MemoryTasks(machine.clock, randomUUID)),
    tokens: new PageTokens(() => Promise.resolve(key)),
    authenticate: () => Promise.resolve({ kind: 'development', principal: null }),
    world: machine,
    log: () => {},
    bodyBytesMax: 1024 * 1024,
    loopbackHostsOnly: true,
  });
  const host = await serveNode(chain, { host: '127.0.0.1', port: 0, world: machine });
  return { url: `${host.url}/mcp`, stop: () => host.stop() };
}

if (import.meta.main) console.log((await serveAcceptance()).url);
