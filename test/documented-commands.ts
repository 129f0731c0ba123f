/** Reads the `svc` commands of a documentation page, and the commands in the tool's completion script. */

/** The words of each `svc` command in the code blocks of a page, without `svc`; also in lines that a pipe feeds. */
export function commandsOf(page: string): string[][] {
  const fences = [...page.matchAll(/^([ \t]*)```sh\n(.*?)^\1```$/gms)].map(([, , text = '']) => text);
  const indented = [...proseOf(page).matchAll(/^(?: {4,}\S.*\n?)+/gm)].map(([text]) => text);
  return [...fences, ...indented].flatMap(toolCommands);
}

/** The words of commands in inline code; a mention may omit the value of its last option. */
export function mentionsOf(page: string): string[][] {
  // A form such as `list\|show`, in a table, is no command.
  const inline = [...proseOf(page).matchAll(/`(svc [^`\\]+)`/g)].map(([, text = '']) => text);
  return inline.flatMap(toolCommands);
}

function proseOf(page: string): string {
  return page.replace(/^[ \t]*```.*?^[ \t]*```$/gms, '');
}

function toolCommands(code: string): string[][] {
  return simpleCommands(code.replace(/\\\n\s*/g, ' ')).flatMap((words) => {
    const at = words.indexOf('svc');
    return at === 0 || (at > 0 && (words[0] === 'xargs' || words[0] === 'do')) ? [words.slice(at + 1)] : [];
  });
}

/** The words of each simple command of a script, for the part of the shell grammar that the documentation uses. */
function simpleCommands(script: string): string[][] {
  const commands: string[][] = [[]];
  const token = /'[^']*'|"(?:\$\([^)]*\)|[^"])*"|\$\([^)]*\)|[^\s'"|;&<>$()]+|\$\w*|&&|\|\||[|;&<>()]|\n/g;
  let word = '';
  let end = 0;
  let isRedirected = false;
  const close = () => {
    if (word !== '' && !isRedirected) commands.at(-1)?.push(word);
    if (word !== '') isRedirected = false;
    word = '';
  };
  for (const { 0: text, index } of script.replace(/(^|\s)#.*$/gm, '$1').matchAll(token)) {
    if (index > end) close();
    end = index + text.length;
    if (/^(&&|\|\||[|;&()\n])$/.test(text)) {
      close();
      commands.push([]);
      isRedirected = false;
    } else if (/^[<>]$/.test(text)) {
      close();
      isRedirected = true;
    } else word += text.replace(/^(['"])(.*)\1$/s, '$2');
  }
  close();
  return commands.filter((words) => words.length > 0);
}

export interface KnownTool {
  /** Subcommands and fixed arguments by the path of their command, such as `svc runs`. */
  readonly words: ReadonlyMap<string, ReadonlySet<string>>;
  /** Options by the path of the command that declares them; `null` takes no value, an empty list takes any. */
  readonly options: ReadonlyMap<string, ReadonlyMap<string, readonly string[] | null>>;
}

/** Reads the script that `svc completion fish` prints: it holds the whole tree of commands and options. */
export function readCompletion(script: string): KnownTool {
  const words = new Map<string, Set<string>>();
  const options = new Map<string, Map<string, readonly string[] | null>>();
  for (const [, path = '', word = ''] of script.matchAll(/-n "__svc_at '([^']+)'" -a '([^']+)'/g)) {
    words.set(path, (words.get(path) ?? new Set()).add(word));
  }
  for (const [, path = '', rest = ''] of script.matchAll(/-n "__svc_under '([^']+)'" (.*)$/gm)) {
    const known = options.get(path) ?? new Map<string, readonly string[] | null>();
    const values = / -x -a '([^']*)'/.exec(rest)?.[1]?.split(' ');
    const taken = / -[xr]( |$)/.test(rest) ? (values ?? []) : null;
    for (const [, long] of rest.matchAll(/(?:^| )-l (\S+)/g)) known.set(`--${long}`, taken);
    for (const [, short] of rest.matchAll(/(?:^| )-s (\S)/g)) known.set(`-${short}`, taken);
    options.set(path, known);
  }
  return { words, options };
}

/** The reason why the tool would refuse the command; `null` if it would accept it. */
export function faultOf(words: readonly string[], { words: known, options }: KnownTool): string | null {
  let path = 'svc';
  let isArgument = false;
  const rest = [...words];
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (word.startsWith('-') && word !== '-') {
      const fault = optionFault(word, rest, path, options);
      if (fault !== null) return fault;
    } else if (!isArgument && known.get(path)?.has(word)) {
      path = `${path} ${word}`;
    } else {
      const commands = known.get(path);
      if (!isArgument && commands !== undefined && !commands.has('*') && isGroup(path, commands)) {
        return `${path} has no command ${word}`;
      }
      isArgument = true;
    }
  }
  return path === 'svc' && words.length === 0 ? 'there is no command' : null;
}

/** A command whose words are commands, not free arguments. */
function isGroup(path: string, words: ReadonlySet<string>): boolean {
  return path === 'svc' || path === 'svc api' || words.has('help');
}

function optionFault(
  option: string,
  rest: string[],
  path: string,
  options: KnownTool['options'],
): string | null {
  const [name = '', given] = option.split(/=(.*)/s);
  const declared = [...options].find(
    ([place, known]) => (path === place || path.startsWith(`${place} `)) && known.has(name),
  );
  // The doctor takes settings as the service does.
  if (declared === undefined) {
    return path === 'svc doctor' && name.includes(':') ? null : `${path} has no option ${name}`;
  }
  const values = declared[1].get(name) ?? null;
  if (values === null) return given === undefined ? null : `${name} takes no value`;
  const value = given ?? rest.shift();
  if (value === undefined) return `${name} needs a value`;
  const isFixed = values.length > 0 && !values.some((each) => each.endsWith('='));
  return isFixed && !values.includes(value) ? `${name} does not take ${value}` : null;
}
