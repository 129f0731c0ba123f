import { spawn } from 'node:child_process';

/** The program of each platform that shows a page in the browser. */
const openers: Readonly<Record<string, { readonly typed: string; readonly words: readonly string[] }>> = {
  darwin: { typed: 'open', words: ['open'] },
  win32: { typed: 'start', words: ['cmd', '/c', 'start', ''] },
};
const opener = openers[process.platform] ?? { typed: 'xdg-open', words: ['xdg-open'] };

/** The command as a person types it into a shell. */
export const openCommand = opener.typed;

/** Shows the page in the browser. Without one the printed address is enough. */
export function open(address: string): void {
  const [program = '', ...words] = opener.words;
  const child = spawn(program, [...words, address], { stdio: 'ignore', detached: true });
  child.on('error', () => undefined);
  child.unref();
}
