import { exitCodes, ToolError } from '../output.ts';

export interface DevArguments {
  /** `null` without one. */
  readonly worker: string | null;
  readonly settings: readonly string[];
}

/**
 * Settings are written with their key and an equals sign, and `--settings FILE` names their file as for the server; the one other word
 * is the module.
 */
export function argumentsOf(words: readonly string[]): DevArguments {
  const isPath = (at: number) => /^--settings$/i.test(words[at - 1] ?? '') && !words[at]?.startsWith('--');
  const isSetting = (word: string, at: number) => word.startsWith('-') || isPath(at);
  const settings = words.filter(isSetting);
  const known = /^--[A-Za-z][^=]*:[^=]*=|^--Environment=|^--settings(?:=|$)/i;
  const other = words.find((word, at) => isSetting(word, at) && !isPath(at) && !known.test(word));
  if (other !== undefined)
    throw new ToolError(
      `${other.split('=', 1).join('')} is no option of dev; settings are written --Section:Key=value`,
      exitCodes.usage,
    );
  const files = words.filter((word, at) => !isSetting(word, at));
  if (files.length > 1) throw new ToolError(`dev runs one file, not ${files.length}`, exitCodes.usage);
  return { worker: files[0] ?? null, settings };
}
