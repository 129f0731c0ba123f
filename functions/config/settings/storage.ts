import { choice, integer, secretText, text, truth } from '../kinds.ts';
import type { Secret } from '../secret.ts';
import { setting } from '../setting.ts';
import { onFunctions } from './defaults.ts';
import { anyText, emulatorHost, projectName } from './texts.ts';

/** The databases that records can be kept in, and other names for them. */
const providers = {
  sqlite: ['local-sqlite', 'local'],
  firestore: ['google-firestore'],
  postgresql: ['postgres', 'cloud-sql-postgres', 'alloydb-postgres'],
  mysql: ['mariadb', 'cloud-sql-mysql'],
} as const;
export type Provider = keyof typeof providers;

/** The store, and the database behind it. */
// biome-ignore format: a table reads better with one setting a line or two
export const canonicalStore = {
  enabled: setting('CanonicalStore:Enabled', truth(), true,
    'Whether the service has a canonical store; without one its routes do not exist.', { variables: ['SVC_CANONICAL_STORE_ENABLED'] }),
  provider: setting<Provider>('CanonicalStore:Provider', choice(providers), onFunctions<Provider>('firestore', 'sqlite'),
    'Database behind the store. A file does not outlive a function instance, so functions default to firestore.', { variables: ['SVC_CANONICAL_STORE_PROVIDER'] }),
  connectionString: setting<Secret | null>('CanonicalStore:ConnectionString', secretText('a connection string', /^\S.{0,4095}$/s), null,
    'Database of the providers postgresql and mysql, such as postgresql://user:password@host/database.', { variables: ['SVC_CANONICAL_CONNECTION_STRING'] }),
  connectionsMax: setting('CanonicalStore:ConnectionsMax', integer(1, 1_000), 10,
    'Connections of one instance to the database of the providers postgresql and mysql.'),
  databasePath: setting<string | null>('CanonicalStore:DatabasePath', anyText, null,
    'Database file of the provider sqlite. Default: svc.canonical.sqlite in the data directory.', { variables: ['SVC_CANONICAL_DATABASE_PATH'] }),
  grouping: setting('CanonicalStore:Grouping', truth(), true,
    'Whether the provider sqlite flushes waiting commits to disk together.'),
  deliveredEventRetentionDays: setting<number | null>('CanonicalStore:DeliveredEventRetentionDays', integer(1, 36_500), null,
    'How long the store keeps a delivered outbox event. After that no call returns it, and its id may be used again. Default: without a limit.', { unit: 'days' }),
} as const;

/** The provider firestore. */
// biome-ignore format: a table reads better with one setting a line or two
export const firestore = {
  projectId: setting<string | null>('Firestore:ProjectId', projectName, null,
    'Project of the database. Default: the project that the platform reports.', { variables: ['GOOGLE_CLOUD_PROJECT', 'GCLOUD_PROJECT'] }),
  databaseId: setting('Firestore:DatabaseId', text('a database id', /^(\(default\)|[a-z][a-z0-9-]{3,62})$/), '(default)',
    'Database in the project.'),
  emulatorHost: setting<string | null>('Firestore:EmulatorHost', emulatorHost, null,
    'Firestore emulator to use instead of the cloud.', { variables: ['FIRESTORE_EMULATOR_HOST'] }),
} as const;
