import { enableCompileCache } from 'node:module';
import { join } from 'node:path';

/**
 * The embedded server's entry: `npm start`. What Node compiled once it keeps, because most of a start is compiling; the
 * rest is imported after that is in force. The folder is ours alone, unlike the machine's temporary one.
 */
enableCompileCache(join(import.meta.dirname, '../node_modules/.cache/svc'));

await import('./embedded-server.ts');
