import { adviceOn } from './advice.ts';
import { type Fault, isOfFile } from './fault.ts';
import { type GroupOff, groupsOff } from './groups-off.ts';
import { type ConfigurationInput, type GivenSecret, readSettings } from './load.ts';
import type { Setting } from './setting.ts';
import { lines, type Settings } from './table.ts';

/** One finding of a check: a fault stops the start of the service, a warning does not. */
export interface Finding extends Fault {
  readonly severity: 'fault' | 'warning';
  readonly remedy: string;
}

export interface CheckedConfiguration {
  readonly settings: Settings;
  readonly findings: readonly Finding[];
  /** Whether a file, a variable or an argument gives any setting. */
  readonly isGiven: boolean;
  /** The parts of the service that the settings switch off. */
  readonly off: readonly GroupOff[];
  /** The secret values that are given, with their sources. */
  readonly secrets: readonly GivenSecret[];
}

/** Everything that is wrong or doubtful with a configuration, each with the setting and the remedy. Pure. */
export function checkConfiguration(input: ConfigurationInput): CheckedConfiguration {
  const { settings, faults, sourcesOf, secrets } = readSettings(input);
  const advice = adviceOn(settings, input.host).filter(
    ({ key }) => !faults.some((fault) => fault.key.toLowerCase() === key.toLowerCase()),
  );
  return {
    settings,
    findings: [
      ...faults.map((fault) => ({ ...fault, severity: 'fault' as const, remedy: remedyOf(fault) })),
      ...advice.map((found) => ({
        ...found,
        severity: 'warning' as const,
        source: sourcesOf(settingOf(found.key)?.key ?? found.key).join(', ') || 'default',
      })),
    ],
    // A named file that cannot be read yields no settings, but a fault.
    isGiven: lines.some(({ key }) => sourcesOf(key).length > 0) || faults.some(isOfFile),
    off: groupsOff(settings),
    secrets,
  };
}

function remedyOf({ key, source, message }: Fault): string {
  const meant = /did you mean ([^?\s]+)\?/.exec(message)?.[1];
  if (meant !== undefined) return `Rename it to ${meant}, or remove it.`;
  if (/^(is not known|unknown option)/.test(message))
    return 'Remove it: svc config schema lists the known settings.';
  if (message.startsWith('is given twice')) return 'Keep one of the two values.';
  if (message.startsWith('comes from several sources')) return `Keep the list in one of ${source}.`;
  if (message === 'does not exist') return 'Correct the path. svc init writes a settings file.';
  const line = settingOf(key);
  if (line === undefined) return 'Correct the file or the argument that the message names.';
  return `Set ${line.key} (environment ${variableOf(line)}). ${line.description}`;
}

/** The setting of a key, also of `Key:0:Member`. */
function settingOf(key: string): Setting<unknown> | undefined {
  const name = key.toLowerCase();
  return lines.find((line) => {
    const own = line.key.toLowerCase();
    return name === own || name.startsWith(`${own}:`);
  });
}

function variableOf({ key, kind }: Setting<unknown>): string {
  const [tail = ''] = kind.tails;
  return `${key}${tail.replaceAll('<n>', '0')}`.replaceAll(':', '__');
}
