import { lookup } from 'node:dns';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import type { ProviderSetting } from '../config/settings/providers.ts';
import type { World } from '../kernel/world.ts';
import { googleCredentials } from '../providers/outgoing/google-credentials.ts';
import { guardedHttp } from '../providers/outgoing/guarded-http.ts';
import { secretFile } from '../providers/outgoing/secret-file.ts';

/** How the service calls a provider over the network. */
export interface Outgoing {
  /** The `http` of this world judges each address before it connects. */
  readonly world: World;
  /** `null`: the server takes no key. */
  readonly apiKey: () => Promise<string | null>;
  /** The header fields that authenticate the service at Google. */
  readonly credentials: () => Promise<Headers>;
}

export function outgoingOf(entry: Partial<ProviderSetting>, world: World): Outgoing {
  const { BaseAddress = '', ApiKey, ApiKeyFile } = entry;
  return {
    world: { ...world, http: guardedHttp({ lookup, namedHosts: hostsNamedBy(BaseAddress) }) },
    apiKey:
      ApiKeyFile === undefined
        ? () => Promise.resolve(ApiKey?.reveal() ?? null)
        : secretFile(() => readFile(ApiKeyFile, 'utf8')),
    credentials: googleCredentials(world.http),
  };
}

/** A numeric address in the settings is allowed on purpose, also if it is private. */
function hostsNamedBy(baseAddress: string): ReadonlySet<string> {
  const host = URL.canParse(baseAddress) ? new URL(baseAddress).hostname.replace(/^\[|\]$/g, '') : '';
  return new Set(isIP(host) === 0 ? [] : [host]);
}
