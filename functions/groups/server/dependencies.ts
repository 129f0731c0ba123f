import type { OpenApiDocument, PublicSchemaBundle } from '../../../contracts/generated/models.ts';
import type { PayloadPlace } from '../../collections/payload-place.ts';
import type { EmbeddingProvider } from '../../embeddings/provider.ts';
import type { JsonObject } from '../../kernel/canonical-json.ts';
import type { World } from '../../kernel/world.ts';
import type { CountedProvider } from '../../providers/rules/provider-counts.ts';
import type { DamageLog } from '../../store/damage.ts';
import type { RecordStore } from '../../store/port.ts';

/** The dependencies of the operations of the server group. */
export interface ServerDependencies {
  readonly world: Pick<World, 'timers'>;
  readonly damage: Pick<DamageLog, 'met'>;
  readonly release: Release;
  /** Whether answers may hold the reasons of failures. */
  readonly development: boolean;
  /** `null` where the canonical store is disabled. */
  readonly canonical: CanonicalReadiness | null;
  /** Absent where the service has no operations on runs to report. */
  readonly execution?: ExecutionConfiguration;
  /** Absent where the service has no operations on records to report. */
  readonly records?: RecordsConfiguration;
  /** Absent where the service has no operations on objects. */
  readonly objects?: ObjectsConfiguration;
  /** The active provider of embeddings; `null` where the service serves none. */
  readonly embedding?: EmbeddingProvider | null;
  /** Absent where the service runs no capabilities of providers. */
  readonly providers?: ProvidersConfiguration;
  readonly apiKey: { readonly required: boolean; readonly header: string };
  readonly documents: ContractDocuments;
}

export interface Release {
  readonly service: string;
  readonly version: string;
}

/** @testonly */
export interface CanonicalReadiness {
  /** The provider's name in the settings. */
  readonly provider: string;
  /** Opens the store when it is not open yet. */
  readonly store: () => Promise<RecordStore>;
  /** Whether every caller may use the store. */
  readonly open: boolean;
  readonly rateLimit: {
    readonly permitLimit: number;
    readonly windowSeconds: number;
    readonly queueLimit: number;
  };
}

interface ExecutionConfiguration {
  readonly enabled: boolean;
  /** Why the operations on runs do not exist although the runtime is enabled; `null` if they exist. */
  readonly unserved: string | null;
  readonly adapter: string;
}

interface RecordsConfiguration {
  /** Why collections and records do not exist; `null` if they exist. */
  readonly off: string | null;
  readonly provider: string;
  readonly store: () => Promise<RecordStore>;
}

interface ObjectsConfiguration {
  /** The kind of store for the bytes of large objects. */
  readonly store: string;
  readonly place: () => Promise<PayloadPlace>;
  /** The name of the probe, one of few: so later probes remove the leftovers of killed processes. */
  readonly reference: string;
  /** Minimum time between two probes, in milliseconds. */
  readonly everyMs: number;
}

interface ProvidersConfiguration {
  /** Limits of the calls of one provider for one space, and the retention of its jobs. */
  readonly limits: JsonObject;
  /** The providers with their proven capabilities. */
  readonly counted: () => Promise<readonly CountedProvider[]>;
}

/** The generated documents, each loaded by the first request that asks for it. */
interface ContractDocuments {
  readonly openApi: () => Promise<OpenApiDocument>;
  readonly schemas: () => Promise<PublicSchemaBundle>;
}
