import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { limits } from '../../../contracts/generated/limits.ts';
import { groupOff } from '../../config/groups-off.ts';
import { isOpen, isServed, needsApiKey, unservedRuns } from '../../config/rules.ts';
import type { Settings } from '../../config/table.ts';
import type { ServerDependencies } from '../../groups/server/dependencies.ts';
import { qualificationsOf } from '../../providers/qualifications.ts';
import { limitsWithJobs, RUN_LIMITS } from '../../providers/rules/run-limits.ts';
import { release } from '../../release.ts';
import { countedProvidersOf } from '../counted-providers.ts';
import { embeddingProvidersOf } from '../embedding-providers.ts';
import type { GroupModule, GroupParts } from '../group.ts';
import { providerTargetsOf } from '../provider-targets.ts';

export const group: GroupModule = {
  bytesMax: 88_000,
  async load(parts) {
    const [{ serverHandlers }, { serverInfoOperation, getServerInfo }, pages] = await Promise.all([
      import('../../groups/server/handlers.ts'),
      import('../../groups/server/server-info.ts'),
      loadDocs(parts.settings),
    ]);
    const serverInfo = getServerInfo(release, pages !== null);
    return {
      handlers: {
        ...serverHandlers(dependenciesOf(parts)),
        [serverInfoOperation.id]: serverInfo,
        ...pages?.handlers,
      },
      extra: [serverInfoOperation, ...(pages?.operations ?? [])],
    };
  },
};

/** The build puts both folders beside the bundle, the guides as `docs/pages`. */
async function loadDocs(settings: Settings) {
  if (!settings.docs.enabled) return null;
  const { docs } = await import('../../groups/server/docs/docs.ts');
  const { dirname, filename } = import.meta;
  const isSource = filename.endsWith('.ts');
  const reference = join(dirname, isSource ? '../../docs' : 'docs');
  const guides = join(dirname, isSource ? '../../../docs' : 'docs/pages');
  // A deployment may leave the guides out.
  const found = await readdir(guides, { recursive: true }).catch(() => []);
  const folder = {
    paths: found.map((path) => path.replaceAll('\\', '/')),
    read: (path: string) => readFile(join(guides, path), 'utf8'),
  };
  return docs(release, (name) => readFile(join(reference, name)), folder, openApiContract);
}

const openApiContract = async () =>
  (await import('../../../contracts/generated/openapi/svc.json', { with: { type: 'json' } })).default;

function providersOf({
  settings,
  store,
}: Pick<GroupParts, 'settings' | 'store'>): NonNullable<ServerDependencies['providers']> {
  const ids = providerTargetsOf(settings).map(({ id }) => id);
  const jobs = {
    maxActiveJobs: settings.execution.maxActiveJobs,
    maxRetainedTerminalJobs: settings.execution.maxRetainedTerminalRuns,
    defaultJobListLimit: limits.providerJobListLimitDefault,
    maxJobListLimit: limits.providerJobListLimitMax,
  };
  return {
    limits: limitsWithJobs(RUN_LIMITS, needsApiKey(settings), jobs),
    counted: async () => countedProvidersOf(settings, await qualificationsOf(store.get, ids)),
  };
}

/** A probe writes. Functions probe half as often: every process probes, and each write costs money. */
const PROBE_MS = { local: 30_000, google: 60_000 };

const PROBE_NAMES = 16;

function objectsOf(parts: GroupParts): NonNullable<ServerDependencies['objects']> {
  const { settings, world, store } = parts;
  return {
    store: placeName(settings),
    place: async () => {
      const [{ bytesPlaceOf }, { processBlobsOf }] = await Promise.all([
        import('../../objects/bytes-place.ts'),
        import('../blobs.ts'),
      ]);
      return bytesPlaceOf(store.get, processBlobsOf(parts));
    },
    reference: `readiness-${((world.random.bytes(8)[0] ?? 0) % PROBE_NAMES).toString(16)}`,
    everyMs: PROBE_MS[settings.execution.adapter],
  };
}

/** The name of the blob store that the settings choose, or of the record store. */
function placeName({ execution, canonicalStore: { provider } }: Settings): string {
  if (execution.artifactObjectContainer !== null) return 'cloud-storage';
  return execution.artifactDirectory !== null || provider === 'sqlite' ? 'files' : provider;
}

function dependenciesOf(parts: GroupParts): ServerDependencies {
  const { settings, world, store, damage } = parts;
  const { service, security, canonicalStore, execution, rateLimit } = settings;
  const off = groupOff(settings, 'records');
  return {
    world,
    damage,
    release,
    development: service.environment === 'Development',
    canonical: canonicalStore.enabled
      ? { provider: canonicalStore.provider, store: store.get, open: isOpen(settings), rateLimit }
      : null,
    execution: {
      enabled: execution.enabled,
      unserved: unservedRuns(settings)?.reason ?? null,
      adapter: execution.adapter,
    },
    records: { off: off?.reason ?? null, provider: canonicalStore.provider, store: store.get },
    ...(off === undefined && isServed(settings, 'objects') ? { objects: objectsOf(parts) } : {}),
    embedding: off === undefined ? embeddingProvidersOf(settings).active : null,
    ...(isServed(settings, 'providers') ? { providers: providersOf({ settings, store }) } : {}),
    apiKey: { required: needsApiKey(settings), header: security.apiKeyHeader },
    documents: {
      openApi: openApiContract,
      schemas: async () =>
        (
          await import('../../../contracts/generated/schemas/svc-public.schema.json', {
            with: { type: 'json' },
          })
        ).default,
    },
  };
}
