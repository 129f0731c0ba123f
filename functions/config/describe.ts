import type { Fault } from './fault.ts';
import { type ConfigurationInput, readSettings } from './load.ts';
import { Secret } from './secret.ts';
import type { Setting } from './setting.ts';
import { type Settings, table } from './table.ts';

/** One setting as people are shown it. */
export interface DescribedSetting {
  readonly key: string;
  /** The value in force, without secrets; `null` where there is none. */
  readonly value: unknown;
  /** Where it comes from: file names, `environment variable X`, `command line`; none for a default. */
  readonly sources: readonly string[];
}

export interface DescribedConfiguration {
  readonly settings: readonly DescribedSetting[];
  readonly faults: readonly Fault[];
}

/** Every setting with the value in force and where it comes from, also where the configuration has faults. */
export function describeConfiguration(input: ConfigurationInput): DescribedConfiguration {
  const { settings, faults, sourcesOf } = readSettings(input);
  const groups = Object.entries(table) as [keyof Settings, Readonly<Record<string, Setting<unknown>>>][];
  const described = groups.flatMap(([group, members]) =>
    Object.entries(members).map(([member, { key }]) => ({
      key,
      value: withoutSecrets((settings[group] as Readonly<Record<string, unknown>>)[member]),
      sources: sourcesOf(key),
    })),
  );
  return { settings: described, faults };
}

/** A secret says only that it is one. Of a hash enough is left to tell it from another, not to search for its key. */
function withoutSecrets(value: unknown): unknown {
  if (value instanceof Secret) return String(value);
  if (typeof value === 'string') return value.replace(/^(sha256:[0-9a-f]{8})[0-9a-f]{56}$/, '$1…');
  if (Array.isArray(value)) return value.map(withoutSecrets);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, withoutSecrets(item)]));
}
