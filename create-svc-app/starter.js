import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

/** The files of a new application, from templates. It runs on Node 20 too, and needs no package. */

export class StarterFault extends Error {}

export const languages = ['typescript', 'python'];

export function makeStarter({ templates, folder, language, version, from, node }) {
  if (!languages.includes(language)) throw new StarterFault(`the language is one of ${languages.join(', ')}`);
  const held = existsSync(folder) ? namesIn(folder).filter((name) => name !== '.git') : [];
  if (held.length > 0) throw new StarterFault(`${folder} is not empty`);
  const values = { name: nameOf(folder), ...packagesOf(language, version, from) };
  const files = ['shared', language].flatMap((part) => filesIn(join(templates, part)));
  refusing(`${folder} cannot be written`, () => {
    mkdirSync(folder, { recursive: true });
    for (const { name, text } of files) writeFileSync(join(folder, name), filled(name, text, values));
  });
  return [...nodeLine(node), nextSteps(folder, language, values)].join('\n\n');
}

/** The release of Node that the application and its service need. */
const NODE = 24;

/** The files are written all the same: the person installs that Node afterwards. */
function nodeLine(node) {
  return Number.parseInt(node, 10) >= NODE ? [] : [`This application needs Node ${NODE}; this is ${node}.`];
}

/** The suffix keeps tools of this project from the templates, and npm from names that it treats as its own. */
const SUFFIX = '.template';

function filesIn(folder) {
  return readdirSync(folder)
    .filter((file) => file.endsWith(SUFFIX))
    .map((file) => ({
      name: nameIn(file.slice(0, -SUFFIX.length)),
      text: readFileSync(join(folder, file), 'utf8'),
    }));
}

/** npm leaves files with these names out of packages, or obeys them. */
function nameIn(template) {
  return ['gitignore', 'npmrc'].includes(template) ? `.${template}` : template;
}

/** `__NAME__` stands for a value, in a file of JSON for the inside of a string. */
function filled(name, text, values) {
  const written = name.endsWith('.json') ? (value) => JSON.stringify(value).slice(1, -1) : (value) => value;
  return text.replace(/__([A-Z]+)__/g, (whole, word) => {
    const value = values[word.toLowerCase()];
    return value === undefined ? whole : written(value);
  });
}

/** A folder that the user may not read or write, or a file in its place, is no mistake of this program. */
function refusing(problem, action) {
  try {
    return action();
  } catch (error) {
    if (error?.syscall === undefined) throw error;
    throw new StarterFault(`${problem}: ${reasons[error.code] ?? error.message}`);
  }
}

const reasons = {
  EACCES: 'you may not',
  EEXIST: 'a file has its name',
  ENOENT: 'it does not exist',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'a file is where a folder must be',
  EPERM: 'you may not',
  EROFS: 'the disk takes no files',
};

function namesIn(folder) {
  return refusing(`${folder} cannot be read`, () => readdirSync(folder));
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
  server: /^svc-runtime-server-\d.*\.tgz$/,
  wheel: /^svc_runtime_client-\d.*\.whl$/,
};

/** The packages as the manifest names them: of the registry, or files of a folder. */
function packagesOf(language, version, from) {
  if (from === undefined)
    return {
      client: version,
      server: version,
      wheel: `svc-runtime-client==${version}`,
      run: `npx --yes @svc-runtime/server@${version}`,
    };
  const folder = resolve(from);
  if (!existsSync(folder)) throw new StarterFault(`there is no folder ${from}`);
  const server = fileIn(folder, 'server');
  // Without --yes npx asks, and where it cannot ask it refuses.
  const run = `npx --yes -p ${shellWord(server)} svc-server`;
  if (language === 'python') {
    // As an address, because pip splits a path at some of its characters.
    const wheel = `svc-runtime-client @ ${pathToFileURL(fileIn(folder, 'wheel')).href}`;
    return { client: version, server: version, wheel, run };
  }
  return { client: `file:${fileIn(folder, 'client')}`, server: `file:${server}`, wheel: version, run };
}

function fileIn(folder, kind) {
  const found = namesIn(folder).filter((name) => packed[kind].test(name));
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
          '',
          `${[...enter, '.venv/bin/python worker.py'].join(' && ')}   # in another terminal`,
        ]
      : ['npm install', 'npm run dev'];
  return [
    'The application is made. Next:',
    '',
    ...[...enter, ...steps].map((step) => `  ${step}`.trimEnd()),
    '',
    'README.md goes on from there.',
  ].join('\n');
}
