import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { pathToFileURL } from 'node:url';
import { getTestServer } from '@google-cloud/functions-framework/testing';

/**
 * One function behind functions-framework, in a process of its own: `function-host.ts <entry>` with
 * `FUNCTION_TARGET`. The framework's own command listens on every network; this one listens on loopback and sends its
 * port to the parent.
 */
// A killed parent cannot stop its children. Listen first: the parent may end while this process starts.
process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));

const entry = process.argv[2];
const target = process.env.FUNCTION_TARGET;
if (entry === undefined || target === undefined)
  throw new Error('an entry point and FUNCTION_TARGET are needed');

await import(pathToFileURL(entry).href);
const server = getTestServer(target);
server.listen(0, '127.0.0.1');
await once(server, 'listening');
// As the framework does: the request chain has its own limits.
server.setTimeout(0);
process.send?.({ port: (server.address() as AddressInfo).port });
