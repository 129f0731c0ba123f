import type { CompletedCommand, CompletedOption, CompletedProgram } from './tree.ts';

/** For `svc completion fish | source`, or as the file `svc.fish` in a folder of completions. */
export function fishScript({ name, commands, valued }: CompletedProgram): string {
  return [
    `# Completion of ${name} for fish: ${name} completion fish | source`,
    ...pathFunction(name, commands, valued),
    `complete -c ${name} -e`,
    `complete -c ${name} -f`,
    ...commands.flatMap((command) => [...wordLines(name, command), ...optionLines(name, command)]),
  ].join('\n');
}

/** Prints the command on the line, or tests for one. */
function pathFunction(
  name: string,
  commands: readonly CompletedCommand[],
  valued: readonly string[],
): string[] {
  const known = commands.map(({ path }) => quoted(path)).join(' ');
  return [
    `function __${name}_path`,
    '  set -l tokens (commandline -opc)',
    `  set -l path ${name}`,
    '  set -l skip 0',
    '  for token in $tokens[2..-1]',
    '    if test $skip = 1',
    '      set skip 0',
    `    else if contains -- $token ${valued.join(' ')}`,
    '      set skip 1',
    `    else if contains -- "$path $token" ${known}`,
    '      set path "$path $token"',
    '    end',
    '  end',
    '  echo $path',
    'end',
    `function __${name}_at`,
    `  test (__${name}_path) = $argv[1]`,
    'end',
    `function __${name}_under`,
    `  set -l path (__${name}_path)`,
    '  test $path = $argv[1]; or string match -q -- "$argv[1] *" $path',
    'end',
    `function __${name}_body`,
    '  set -l text (commandline -ct | string replace -r -- "^--[a-z-]+=" "")',
    "  string match -q '@*' -- $text; or return",
    '  printf "@%s\\n" (__fish_complete_path (string sub -s 2 -- $text))',
    'end',
  ];
}

function wordLines(name: string, { path, words }: CompletedCommand): string[] {
  return words.map(
    (word) =>
      `complete -c ${name} -n "__${name}_at ${quoted(path)}" -a ${quoted(word.name)}${descriptionOf(word.description)}`,
  );
}

function optionLines(name: string, { path, options }: CompletedCommand): string[] {
  return options.map((option) => {
    const names = option.names.map((each) =>
      each.startsWith('--') ? `-l ${each.slice(2)}` : `-s ${each.slice(1)}`,
    );
    const value = valueOf(name, option);
    return `complete -c ${name} -n "__${name}_under ${quoted(path)}" ${names.join(' ')}${value}${descriptionOf(option.description)}`;
  });
}

function valueOf(name: string, { value }: CompletedOption): string {
  if (value === null) return '';
  if (value.kind === 'file') return ' -r -F';
  if (value.kind === 'body') return ` -x -a "(__${name}_body)"`;
  return 'words' in value ? ` -x -a ${quoted(value.words.join(' '))}` : ' -x';
}

function descriptionOf(description: string): string {
  return description === '' ? '' : ` -d ${quoted(description)}`;
}

/** In single quotes of fish a backslash escapes itself and the quote. */
function quoted(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&')}'`;
}
