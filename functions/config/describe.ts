import type { Fault } from './fault.ts';
import { type ConfigurationInput, readSettings } from './load.ts';
import { Secret } from './secret.ts';
import type { Setting } from './setting.ts';
import { type Settings, table } from './table.ts';

/** One setting as the tool shows it. */
export interface DescribedSetting {
  readonly key: string;
  /** The value in force, without secrets; `null` where it is not set. */
  readonly value: unknown;
  /** The sources of the value: file names, `environment variable X`, `command line`; empty for a default. */
  readonly sources: readonly string[];
}

export interface DescribedConfiguration {
  readonly settings: readonly DescribedSetting[];
  readonly faults: readonly Fault[];
}

/** Every setting with its value and sources, even where the configuration has faults. */
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

/** Secrets are hidden. A hash keeps enough digits to tell it from another, and too few to search for its key. */
function withoutSecrets(value: unknown): unknown {
  if (value instanceof Secret) return String(value);
  if (typeof value === 'string') return value.replace(/^(sha256:[0-9a-f]{8})[0-9a-f]{56}$/, '$1…');
  if (Array.isArray(value)) return value.map(withoutSecrets);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, withoutSecrets(item)]));
}
