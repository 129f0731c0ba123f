import type { Argument, Command, Option } from 'commander';
import { ParamOption } from '../api/command.ts';

/** The program for a completion script: every command by its path, such as `svc api list`. */
export interface CompletedProgram {
  readonly name: string;
  readonly commands: readonly CompletedCommand[];
  /** The names of all options that take the next word as a value; the same for every command. */
  readonly valued: readonly string[];
}

export interface CompletedCommand {
  readonly path: string;
  /** Subcommands of the command, and values of its first argument. */
  readonly words: readonly Described[];
  /** Options of the command; those of its parent commands also apply. */
  readonly options: readonly CompletedOption[];
}

export interface Described {
  readonly name: string;
  readonly description: string;
}

export interface CompletedOption {
  /** `--output`, `-h` */
  readonly names: readonly string[];
  readonly description: string;
  readonly value: CompletedValue | null;
}

/** The possible values of an option. `starts` are prefixes that a person continues. */
export type CompletedValue =
  | { readonly kind: 'words'; readonly words: readonly string[] }
  | { readonly kind: 'starts'; readonly words: readonly string[] }
  | { readonly kind: 'file' | 'body' | 'any' };

export function programOf(root: Command): CompletedProgram {
  const commands = commandsOf(root, root.name());
  const options = commands.flatMap((command) => command.options);
  const valued = new Set(options.filter(({ value }) => value !== null).flatMap(({ names }) => names));
  return { name: root.name(), commands, valued: [...valued] };
}

function commandsOf(command: Command, path: string): CompletedCommand[] {
  const help = command.createHelp();
  const below = help.visibleCommands(command);
  const words = below.map((each) => ({
    name: each.name(),
    description: oneLine(each.summary() || each.description()),
  }));
  const own: CompletedCommand = {
    path,
    words: [...words, ...choicesOf(command.registeredArguments[0])],
    options: help.visibleOptions(command).map(optionOf),
  };
  return [own, ...below.flatMap((each) => commandsOf(each, `${path} ${each.name()}`))];
}

function choicesOf(argument: Argument | undefined): Described[] {
  return (argument?.argChoices ?? []).map((name) => ({ name, description: '' }));
}

function optionOf(option: Option): CompletedOption {
  const names = [option.long, option.short].filter((name) => name !== undefined && name !== null);
  return { names, description: oneLine(option.description), value: valueOf(option) };
}

function valueOf(option: Option): CompletedValue | null {
  if (!option.required) return null;
  if (option.argChoices !== undefined) return { kind: 'words', words: option.argChoices };
  if (option instanceof ParamOption) return { kind: 'starts', words: option.names.map((name) => `${name}=`) };
  if (option.long === '--body') return { kind: 'body' };
  return { kind: /<[^>]*(file|folder|directory|path)[^>]*>/.test(option.flags) ? 'file' : 'any' };
}

/** The options of a command: its own and those of its parents. */
export function optionsAt({ commands }: CompletedProgram, path: string): CompletedOption[] {
  return commands
    .filter((command) => path === command.path || path.startsWith(`${command.path} `))
    .flatMap(({ options }) => options);
}

function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\s]+/gu, ' ').trim();
}

/** A text as one word of bash and zsh. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
