import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { type Language, makeStarter, StarterFault } from '../../create-svc-app/starter.js';
import { release } from '../../functions/release.ts';
import { exitCodes, ToolError } from '../output.ts';
import type { InitOptions } from './options.ts';

/** The build copies the templates beside its code. */
const place = import.meta.url.endsWith('.ts') ? '../../create-svc-app/templates' : './templates';
const templates = fileURLToPath(new URL(place, import.meta.url));

const ofStarter: ReadonlySet<string> = new Set(['starter', 'language', 'from', 'out', 'yes']);

/** `svc init --starter`: the application that `npm create svc-app` makes. */
export function starter({ out, language = 'typescript', from }: InitOptions, invoked: Command): string {
  const others = invoked.options
    .filter((option) => invoked.getOptionValueSource(option.attributeName()) === 'cli')
    .filter((option) => !ofStarter.has(option.attributeName()));
  if (others.length > 0) {
    const named = others.map(({ long }) => long).join(', ');
    throw new ToolError(`--starter takes --out, --language and --from alone, not ${named}`, exitCodes.usage);
  }
  try {
    const { version } = release;
    const { node } = process.versions;
    return makeStarter({ templates, folder: out, language: language as Language, version, from, node });
  } catch (error) {
    if (!(error instanceof StarterFault)) throw error;
    throw new ToolError(`No application was made: ${error.message}`, exitCodes.conflict);
  }
}
