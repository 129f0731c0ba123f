import { join, resolve } from 'node:path';

/**
 * The environment of Node processes that tests start from the sources: Node reads and compiles a thousand modules for each, and
 * keeps what it compiled in this folder, by the text of each module. A start takes a third of the processor time then.
 */
export const compileCache: Readonly<Record<string, string>> = {
  NODE_COMPILE_CACHE: join(resolve(import.meta.dirname, '../..'), 'dist/compile-cache'),
};
