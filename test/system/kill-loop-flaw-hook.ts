import { registerHooks } from 'node:module';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DISK_FLAWS, type Edit, FLAWS } from './kill-loop-flaws.ts';
import { root } from './program.ts';

/** Loaded before a server: plants the flaw that is named behind a question mark in the address of this module. */
const name = new URL(import.meta.url).searchParams.get('flaw') ?? '';
const flaw = FLAWS[name] ?? DISK_FLAWS[name];
if (flaw === undefined) throw new Error(`there is no flaw ${name}`);
const edits = Map.groupBy(flaw.edits, ({ file }) => `${root}/${file}`);

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    const planted = url.startsWith('file:') ? edits.get(fileURLToPath(url)) : undefined;
    if (planted === undefined) return loaded;
    if (loaded.source === undefined || loaded.source === null) throw new Error(`${url} has no source`);
    return { ...loaded, source: planted.reduce(edited, Buffer.from(loaded.source as Uint8Array).toString()) };
  },
});

function edited(source: string, { file, from, to }: Edit): string {
  const parts = source.split(from);
  // A flaw that no longer fits would prove nothing.
  if (parts.length !== 2)
    throw new Error(`the flaw ${name} fits ${parts.length - 1} places of ${basename(file)}`);
  return parts.join(to);
}
