import { enableCompileCache } from 'node:module';
import { join } from 'node:path';

/**
 * The embedded server's entry: `npm start`, and `npm start -- dev` for development. Node caches compiled code, because compilation takes most of the start. The
 * server is imported after the cache is enabled. The cache folder is private, unlike the temporary folder of the machine.
 */
enableCompileCache(join(import.meta.dirname, '../node_modules/.cache/svc'));

const { commandLine } = await import('./config/machine.ts');
if (commandLine()[0] === 'dev') await (await import('../cli/dev/main.ts')).main(commandLine());
else await import('./embedded-server.ts');
