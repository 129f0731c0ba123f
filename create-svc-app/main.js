#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { languages, makeStarter, StarterFault } from './starter.js';

const help = `Usage: npm create svc-app@latest <folder> [-- options]

Makes a folder with a first svc application.

  --language <name>  ${languages.join(' or ')}; typescript if absent
  --from <folder>    takes the packages from files of this folder instead of the registry
  --help             shows this
  --version          shows the release`;

function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      language: { type: 'string', default: 'typescript' },
      from: { type: 'string' },
      help: { type: 'boolean', short: 'h' },
      version: { type: 'boolean', short: 'v' },
    },
  });
  const here = import.meta.dirname;
  const { version } = JSON.parse(readFileSync(join(here, 'package.json'), 'utf8'));
  if (values.help) return help;
  if (values.version) return version;
  const [folder, ...others] = positionals;
  if (folder === undefined || others.length > 0) throw new StarterFault(`name one folder\n\n${help}`);
  const { language, from } = values;
  const { node } = process.versions;
  return makeStarter({ templates: join(here, 'templates'), folder, language, version, from, node });
}

try {
  process.stdout.write(`${main()}\n`);
} catch (error) {
  const isOfUser = error instanceof StarterFault || String(error?.code).startsWith('ERR_PARSE_ARGS');
  if (!isOfUser) throw error;
  process.stderr.write(`create-svc-app: ${error.message}\n`);
  process.exitCode = 2;
}
