import { databasePath } from '../../functions/compose/database-path.ts';
import { faultsText } from '../../functions/config/fault.ts';
import { type ConfigurationInput, type ReadSettings, readSettings } from '../../functions/config/load.ts';
import { isLoopback } from '../../functions/config/loopback.ts';
import { needsApiKey } from '../../functions/config/rules.ts';
import { type Settings, table } from '../../functions/config/table.ts';
import { exitCodes, ToolError } from '../output.ts';
import type { ApiKey } from './seed.ts';

export interface DevSettings {
  readonly settings: Settings;
  /** The arguments of the server. */
  readonly argv: readonly string[];
  /** Whether the data is where `svc dev` puts it: only there may it be removed. */
  readonly hasOwnData: boolean;
  /** What callers present; `null` if the service asks for none. */
  readonly key: DevKey | null;
}

export interface DevKey extends ApiKey {
  /** Where the key stands; `null` if `SVC_API_KEY` of the terminal holds it, which the printed lines read. */
  readonly source: string | null;
}

/** The settings of the server, with those of `svc dev` where no source has them. Throws outside Development and loopback. */
export function devSettings(input: ConfigurationInput): DevSettings {
  const given = checked(readSettings(input));
  const argv = [
    ...input.argv,
    ...(isGiven(given, table.mcp.enabled.key) ? [] : [`--${table.mcp.enabled.key}=true`]),
  ];
  const read = checked(readSettings({ ...input, argv }));
  const { settings } = read;
  const refusal = refusalOf(read);
  if (refusal !== null)
    throw new ToolError(`${refusal}. Start that service with svc-server`, exitCodes.usage);
  const hasOwnData = [table.service.dataDirectory.key, table.canonicalStore.databasePath.key].every(
    (key) => !isGiven(read, key),
  );
  const isOwn = hasOwnData && settings.canonicalStore.provider === 'sqlite';
  return { settings, argv, hasOwnData: isOwn, key: keyOf(read, input.env['SVC_API_KEY']) };
}

/** The first key that the settings hold in plain text. A hash does not give its key away, so that one more key has to be given. */
function keyOf({ settings, sourcesOf }: ReadSettings, ofTerminal: string | undefined): DevKey | null {
  if (!needsApiKey(settings)) return null;
  const { security } = table;
  const { apiKey, apiKeys, apiKeyHeader: header } = settings.security;
  const value = (apiKey ?? apiKeys[0])?.reveal();
  if (value === undefined) {
    const hashed = [security.apiKeyHashes.key, security.apiKeyFile.key].find(
      (key) => sourcesOf(key).length > 0,
    );
    const message = `The service asks for an API key, and ${hashed} holds hashes alone: set SVC_API_KEY to one more key for dev`;
    throw new ToolError(message, exitCodes.usage);
  }
  const { key } = apiKey === null ? security.apiKeys : security.apiKey;
  return {
    header,
    value,
    source: ofTerminal?.trim() === value ? null : `${key} (${sourcesOf(key).join(', ')})`,
  };
}

/** The service of `dev` asks for no credential and adds the handlers that workers name. */
function refusalOf({ settings, sourcesOf }: ReadSettings): string | null {
  const isOf = (key: string, value: string) => `${key} is ${value} (${sourcesOf(key).at(-1) ?? 'default'})`;
  const { environment, cloudService } = settings.service;
  const { host } = settings.server;
  if (environment !== 'Development')
    return `dev runs in Development only, and ${isOf(table.service.environment.key, environment)}`;
  if (!isLoopback(host)) return `dev serves this machine only, and ${isOf(table.server.host.key, host)}`;
  return cloudService === null
    ? null
    : `dev serves this machine only, and ${isOf(table.service.cloudService.key, cloudService)}`;
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
