import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join, relative, resolve } from 'node:path';

/** The files of a new application, from templates. It runs on Node 20 too, and needs no package. */

export class StarterFault extends Error {}

export const languages = ['typescript', 'python'];

export function makeStarter({ templates, folder, language, version, from }) {
  if (!languages.includes(language)) throw new StarterFault(`the language is one of ${languages.join(', ')}`);
  const held = existsSync(folder) ? readdirSync(folder).filter((name) => name !== '.git') : [];
  if (held.length > 0) throw new StarterFault(`${folder} is not empty`);
  const values = { name: nameOf(folder), ...packagesOf(language, version, from) };
  const files = ['shared', language].flatMap((part) => filesIn(join(templates, part)));
  mkdirSync(folder, { recursive: true });
  for (const { name, text } of files) writeFileSync(join(folder, name), filled(text, values));
  return nextSteps(folder, language, values);
}

/** The suffix keeps tools of this project from the templates, and npm from names that it treats as its own. */
const SUFFIX = '.template';

function filesIn(folder) {
  return readdirSync(folder)
    .filter((file) => file.endsWith(SUFFIX))
    .map((file) => ({
      name: file === `gitignore${SUFFIX}` ? '.gitignore' : file.slice(0, -SUFFIX.length),
      text: readFileSync(join(folder, file), 'utf8'),
    }));
}

/** `__NAME__` stands for a value. */
function filled(text, values) {
  return text.replace(/__([A-Z]+)__/g, (_, word) => values[word.toLowerCase()] ?? `__${word}__`);
}

/** A name that npm takes. */
function nameOf(folder) {
  const name = basename(resolve(folder))
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, '-')
    .replace(/^-+|-+$/g, '');
  return name === '' ? 'app' : name;
}

const packed = {
  client: /^svc-runtime-client-\d.*\.tgz$/,
  server: /^svc(-runtime-server)?-\d.*\.tgz$/,
  wheel: /^svc_runtime_client-\d.*\.whl$/,
};

/** The packages as the manifest names them: of the registry, or files of a folder. */
function packagesOf(language, version, from) {
  if (from === undefined)
    return {
      client: version,
      server: version,
      wheel: `svc-runtime-client==${version}`,
      run: 'npx @svc-runtime/server',
    };
  const folder = resolve(from);
  if (!existsSync(folder)) throw new StarterFault(`there is no folder ${from}`);
  const server = fileIn(folder, 'server');
  const run = `npx -p ${shellWord(server)} svc-server`;
  if (language === 'python') return { client: version, server: version, wheel: fileIn(folder, 'wheel'), run };
  return { client: `file:${fileIn(folder, 'client')}`, server: `file:${server}`, wheel: version, run };
}

function fileIn(folder, kind) {
  const found = readdirSync(folder).filter((name) => packed[kind].test(name));
  if (found.length === 0) throw new StarterFault(`${folder} holds no package of the ${kind}`);
  if (found.length > 1)
    throw new StarterFault(`${folder} holds several packages of the ${kind}: ${found.join(', ')}`);
  return join(folder, found[0]);
}

function shellWord(text) {
  return /^[\w./@:+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

function nextSteps(folder, language, { run }) {
  const place = relative('.', folder);
  const enter = place === '' ? [] : [`cd ${shellWord(place)}`];
  const steps =
    language === 'python'
      ? [
          'python3 -m venv .venv && .venv/bin/pip install -r requirements.txt',
          `${run} dev`,
          '.venv/bin/python worker.py',
        ]
      : ['npm install', 'npm run dev'];
  return [
    'The application is made. Next:',
    '',
    ...[...enter, ...steps].map((step) => `  ${step}`),
    '',
    'README.md goes on from there.',
  ].join('\n');
}
