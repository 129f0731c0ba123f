import { enableCompileCache } from 'node:module';
import { join } from 'node:path';

/**
 * The embedded server's entry: `npm start`. Node caches compiled code, because compilation takes most of the start. The
 * server is imported after the cache is enabled. The cache folder is private, unlike the temporary folder of the machine.
 */
enableCompileCache(join(import.meta.dirname, '../node_modules/.cache/svc'));

await import('./embedded-server.ts');
