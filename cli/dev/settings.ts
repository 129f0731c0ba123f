import { databasePath } from '../../functions/compose/database-path.ts';
import { faultsText } from '../../functions/config/fault.ts';
import { type ConfigurationInput, type ReadSettings, readSettings } from '../../functions/config/load.ts';
import { type Settings, table } from '../../functions/config/table.ts';
import { exitCodes, ToolError } from '../output.ts';

export interface DevSettings {
  readonly settings: Settings;
  /** The arguments of the server. */
  readonly argv: readonly string[];
  /** Whether the data is where `svc dev` puts it: only there may it be removed. */
  readonly hasOwnData: boolean;
}

/** The settings of the server, with those of `svc dev` where no source has them. Throws outside Development. */
export function devSettings(input: ConfigurationInput): DevSettings {
  const given = checked(readSettings(input));
  const argv = [
    ...input.argv,
    ...(isGiven(given, table.mcp.enabled.key) ? [] : [`--${table.mcp.enabled.key}=true`]),
  ];
  const read = checked(readSettings({ ...input, argv }));
  const { settings } = read;
  const { environment } = settings.service;
  if (environment !== 'Development') {
    const source = read.sourcesOf(table.service.environment.key).at(-1) ?? 'default';
    const message = `dev runs in Development only, and ${table.service.environment.key} is ${environment} (${source}). Start that service with svc-server`;
    throw new ToolError(message, exitCodes.usage);
  }
  const hasOwnData = [table.service.dataDirectory.key, table.canonicalStore.databasePath.key].every(
    (key) => !isGiven(read, key),
  );
  return { settings, argv, hasOwnData: hasOwnData && settings.canonicalStore.provider === 'sqlite' };
}

function checked(read: ReadSettings): ReadSettings {
  if (read.faults.length > 0) throw new ToolError(faultsText(read.faults), exitCodes.usage);
  return read;
}

function isGiven({ sourcesOf }: ReadSettings, key: string): boolean {
  return sourcesOf(key).length > 0;
}

/** Where the data is, as people read it. */
export function dataText(settings: Settings): string {
  const { provider } = settings.canonicalStore;
  return provider === 'sqlite' ? databasePath(settings) : provider;
}
