import { exitCodes, ToolError } from '../output.ts';

export interface DevArguments {
  /** `null` without one. */
  readonly worker: string | null;
  readonly settings: readonly string[];
}

/** Settings are written with their key and an equals sign; the one other word is the module. */
export function argumentsOf(words: readonly string[]): DevArguments {
  const settings = words.filter((word) => word.startsWith('-'));
  const other = settings.find((word) => !/^--[A-Za-z][^=]*:[^=]*=|^--Environment=/.test(word));
  if (other !== undefined)
    throw new ToolError(
      `${other.split('=', 1).join('')} is no option of dev; settings are written --Section:Key=value`,
      exitCodes.usage,
    );
  const files = words.filter((word) => !word.startsWith('-'));
  if (files.length > 1) throw new ToolError(`dev runs one file, not ${files.length}`, exitCodes.usage);
  return { worker: files[0] ?? null, settings };
}
