/** Finds commands that would fetch a package of somebody else, because a name of a registry is not ours. */

/** The packages of this project, in every registry. A new one is a decision: its name has to be claimed first. */
const ours: ReadonlySet<string> = new Set([
  '@svc-runtime/server',
  '@svc-runtime/client',
  '@svc-runtime/dispatcher',
  'create-svc-app',
  'svc-runtime-client',
]);

/** Commands that fetch a package and run it, and those that install packages, each with the words after it. */
const runs = /\b(?:npx|bunx|npm exec|npm x|pnpm dlx|pnpm exec|yarn dlx)((?:[ \t]+[^\s`'"|;&#)]+)+)/g;
/** Commands that run the package `create-<word>`. */
const creates = /\b(?:npm (?:init|create|innit)|(?:yarn|pnpm|bun) create)((?:[ \t]+[^\s`'"|;&#)]+)+)/g;
/** A command of an image as a list: `RUN ["npm", "install", "a"]`. */
const lists = /^(\s*(?:RUN|CMD|ENTRYPOINT)\s+)\[(.*)\]/gm;
const installs =
  /\b(?:npm (?:i|install|add|view)|(?:pnpm|yarn|bun) add|pip3? install|uv (?:pip install|add|tool install)|pipx install)((?:[ \t]+[^\s`'|;&#)]+)+)/g;

/** The faults of a text, a line each. */
export function packageNameFaults(path: string, text: string): string[] {
  const joined = text
    .replace(/\\\n\s*/g, ' ')
    .replace(lists, (_, word: string, list: string) => word + list.replace(/[",\s]+/g, ' ').trim());
  const faults: string[] = [];
  for (const [command, words = ''] of joined.matchAll(runs)) {
    const list = words.trim().split(/\s+/);
    const named = list.findIndex((word) => /^(?:-p|--package)(?:=|$)/.test(word));
    const fetched = named < 0 ? list.find((word) => !word.startsWith('-')) : packageWord(list, named);
    // An installed command is run, and nothing is fetched.
    if (!list.includes('--no-install') && !list.includes('--no') && isForeign(fetched))
      faults.push(`${path}: \`${command.trim()}\` runs a package that is not ours`);
  }
  for (const [command, words = ''] of joined.matchAll(creates)) {
    const made = words
      .trim()
      .split(/\s+/)
      .find((word) => !word.startsWith('-'));
    if (made !== undefined && isForeign(createdBy(made)))
      faults.push(`${path}: \`${command.trim()}\` runs ${createdBy(made)}, which is not ours`);
  }
  for (const [command, words = ''] of joined.matchAll(installs)) {
    const found = words.trim().split(/\s+/).find(isForeign);
    if (found !== undefined) faults.push(`${path}: \`${command.trim()}\` names ${found}, which is not ours`);
  }
  for (const [name] of joined.matchAll(/@svc(?:-[a-z]+)*\/[a-z][a-z-]*/g))
    if (!ours.has(name)) faults.push(`${path}: ${name} is no package of this project`);
  return faults;
}

/** The package behind the word after `create`: a scope alone names `create` in it. */
function createdBy(word: string): string {
  const [, scope = '', name = ''] = /^(?:(@[^/@]+)\/?)?(.*)$/.exec(word) ?? [];
  const made = name === '' || name.startsWith('@') ? `create${name}` : `create-${name}`;
  return scope === '' ? made : `${scope}/${made}`;
}

function packageWord(words: readonly string[], at: number): string | undefined {
  const [, joined] = /^[^=]+=(.*)$/.exec(words[at] ?? '') ?? [];
  return joined ?? words[at + 1];
}

/** Whether a word is a package that looks like ours and is not. Files, folders and options are none. */
function isForeign(word: string | undefined): boolean {
  if (word === undefined || /^[-./~$<]|[/\\].*\.(?:tgz|whl)|\.(?:tgz|whl)\b/.test(word)) return false;
  const name = word.replace(/^"|"$/g, '').replace(/(?<=.)(?:@|\[|[=<>~!]=).*$/, '');
  return /^(?:@svc|svc\b|svc[-_]|create-svc\b|create-create-svc\b)/.test(name) && !ours.has(name);
}
