import { createServer } from 'node:net';
import type { ServerHealthStatus } from '../../contracts/generated/models.ts';
import { release } from '../../functions/release.ts';
import { Remote } from '../remote.ts';
import { type Check, failed, ok, warning } from './check.ts';
import { getJson } from './server.ts';

/** Whether the embedded server can listen on its configured address; otherwise, which program does. */
export async function portCheck(host: string, port: number): Promise<Check> {
  if (port === 0) return ok('port', 'The server takes a free port.');
  const place = `${host}:${port}`;
  const code = await listenFault(host, port);
  if (code === undefined) return ok('port', `${place} is free.`);
  const another = 'Choose another with PORT or --port.';
  if (code !== 'EADDRINUSE')
    return failed('port', `The server cannot listen on ${place} (${code}).`, another);
  const version = await versionAt(host, port);
  if (version === undefined)
    return failed('port', `Another program listens on ${place}.`, `End it. ${another}`);
  const message = `${release.service} ${version} is running on ${place}.`;
  if (version === release.version) return ok('port', message);
  return warning('port', message, `Stop it to start this release, ${release.version}.`);
}

/** Listens for a moment and answers no request. */
function listenFault(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}

async function versionAt(host: string, port: number): Promise<string | undefined> {
  const everywhere: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };
  const name = everywhere[host] ?? host;
  const remote = new Remote(new URL(`http://${name.includes(':') ? `[${name}]` : name}:${port}`), [], {
    timeout: 3,
  });
  try {
    const health = await getJson<ServerHealthStatus>(remote, '/health');
    return health?.service === release.service ? health.version : undefined;
  } catch {
    return undefined;
  }
}
