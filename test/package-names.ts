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
const installs =
  /\b(?:npm (?:i|install|add|view)|(?:pnpm|yarn|bun) add|pip3? install|uv (?:pip install|add|tool install)|pipx install)((?:[ \t]+[^\s`'|;&#)]+)+)/g;

/** The faults of a text, a line each. */
export function packageNameFaults(path: string, text: string): string[] {
  const joined = text.replace(/\\\n\s*/g, ' ');
  const faults: string[] = [];
  for (const [command, words = ''] of joined.matchAll(runs)) {
    const list = words.trim().split(/\s+/);
    const named = list.findIndex((word) => /^(?:-p|--package)(?:=|$)/.test(word));
    const fetched = named < 0 ? list.find((word) => !word.startsWith('-')) : packageWord(list, named);
    // An installed command is run, and nothing is fetched.
    if (!list.includes('--no-install') && !list.includes('--no') && isForeign(fetched))
      faults.push(`${path}: \`${command.trim()}\` runs a package that is not ours`);
  }
  for (const [command, words = ''] of joined.matchAll(installs)) {
    const found = words.trim().split(/\s+/).find(isForeign);
    if (found !== undefined) faults.push(`${path}: \`${command.trim()}\` names ${found}, which is not ours`);
  }
  for (const [name] of joined.matchAll(/@svc(?:-[a-z]+)*\/[a-z][a-z-]*/g))
    if (!ours.has(name)) faults.push(`${path}: ${name} is no package of this project`);
  return faults;
}

function packageWord(words: readonly string[], at: number): string | undefined {
  const [, joined] = /^[^=]+=(.*)$/.exec(words[at] ?? '') ?? [];
  return joined ?? words[at + 1];
}

/** Whether a word is a package that looks like ours and is not. Files, folders and options are none. */
function isForeign(word: string | undefined): boolean {
  if (word === undefined || /^[-./~$<]|[/\\].*\.(?:tgz|whl)|\.(?:tgz|whl)\b/.test(word)) return false;
  const name = word.replace(/^"|"$/g, '').replace(/(?<=.)(?:@|\[|[=<>~!]=).*$/, '');
  return /^(?:@svc|svc\b|svc[-_])/.test(name) && !ours.has(name);
}
