import type { Settings } from '../functions/config/table.ts';

/** The settings of a service whose database lies there. */
export function at(settings: Settings, databasePath: string): Settings {
  return { ...settings, canonicalStore: { ...settings.canonicalStore, databasePath } };
}
