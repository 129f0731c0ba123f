import type { Setting } from './setting.ts';
import { canonicalAccess, executionAccess, oidc, providerAccess, recordAccess } from './settings/access.ts';
import { artifacts } from './settings/artifacts.ts';
import { embeddings } from './settings/embeddings.ts';
import { cloudTasks, execution, hostedWorker } from './settings/execution.ts';
import { mcp } from './settings/mcp.ts';
import { objects } from './settings/objects.ts';
import { providers } from './settings/providers.ts';
import { quotas } from './settings/quotas.ts';
import { records } from './settings/records.ts';
import {
  cors,
  docs,
  executionRateLimit,
  publicRateLimit,
  rateLimit,
  recordRateLimit,
  security,
  server,
  service,
  workerRateLimit,
} from './settings/server.ts';
import { canonicalStore, firestore } from './settings/storage.ts';
import { traces } from './settings/traces.ts';

/** Every setting, by section. Nothing else reads the environment, the command line or a settings file. */
export const table = {
  service,
  server,
  security,
  rateLimit,
  executionRateLimit,
  workerRateLimit,
  publicRateLimit,
  recordRateLimit,
  oidc,
  canonicalAccess,
  executionAccess,
  recordAccess,
  providerAccess,
  execution,
  cloudTasks,
  hostedWorker,
  canonicalStore,
  firestore,
  quotas,
  records,
  objects,
  artifacts,
  embeddings,
  providers,
  traces,
  mcp,
  docs,
  cors,
} as const;

type Group = { readonly [name: string]: Setting<unknown> };
type ValuesOf<G> = { readonly [N in keyof G]: G[N] extends Setting<infer T> ? T : never };

/** The table's values, typed. */
export type Settings = { readonly [G in keyof typeof table]: ValuesOf<(typeof table)[G]> };

export const lines: readonly Setting<unknown>[] = Object.values(
  table as { readonly [name: string]: Group },
).flatMap((group) => Object.values(group));

/** Sections that belong to the service, including those of later releases. */
export const sections: ReadonlySet<string> = new Set([
  ...lines.map((line) => line.key.split(':', 1).join('').toLowerCase()),
  'executionruntime',
  'execution',
  'hostedworker',
  'queue',
  'telemetry',
  'http',
]);
