import { fallbackOf, type Given, type Setting } from './setting.ts';
import { lines } from './table.ts';

/** Every setting with its names, default and meaning, for `--help`. */
export function settingsHelp(given: Given): string {
  return lines.map((line) => settingHelp(line, given)).join('\n');
}

function settingHelp(line: Setting<unknown>, given: Given): string {
  const keys = line.kind.tails.map((tail) => `${line.key}${tail}`).join(', ');
  const names = [...line.variables, ...(line.option === undefined ? [] : [`--${line.option}`])];
  const also = names.length === 0 ? '' : `  (${names.join(', ')})`;
  const fallback = fallbackOf(line, given);
  const none = fallback === null || (Array.isArray(fallback) && fallback.length === 0);
  const shown = Array.isArray(fallback) ? `${fallback.length} items` : String(fallback);
  const unit = line.unit === undefined ? '' : ` ${line.unit}`;
  return `  ${keys}${also}\n      ${line.description}${none ? '' : ` Default: ${shown}${unit}.`}`;
}
