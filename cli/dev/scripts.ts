import { fileURLToPath } from 'node:url';

const isSource = import.meta.url.endsWith('.ts');

/** The build puts every script into one folder, under a name of its own. */
function place(inSource: string, inBuild: string): string {
  return fileURLToPath(new URL(isSource ? inSource : inBuild, import.meta.url));
}

/** The programs that `svc dev` starts as processes of their own. */
export const scripts = {
  server: place('./server-main.ts', './dev-server.js'),
  worker: place('./worker-main.ts', './dev-worker.js'),
} as const;
