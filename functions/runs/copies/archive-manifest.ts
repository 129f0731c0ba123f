import { name, nullOr } from '../../archives/checks.ts';
import type { ArchiveManifestOf, ManifestKind } from '../../archives/manifest.ts';
import { COUNTED, type RunCounts, type RunsOf } from './archive-lines.ts';

export const RUNS_PROFILE = 'svc.runs.archive.v1';

export type RunsManifest = ArchiveManifestOf<typeof RUNS_PROFILE, RunsOf, RunCounts>;

export const runsArchives: ManifestKind<typeof RUNS_PROFILE, RunsOf, RunCounts> = {
  profile: RUNS_PROFILE,
  required: `${RUNS_PROFILE}: the archive of another kind has commands of its own`,
  ownNames: ['tenantId', 'productId'],
  readOwn: ({ tenantId, productId }) => ({
    tenantId: nullOr(name, tenantId, '/tenantId'),
    productId: nullOr(name, productId, '/productId'),
  }),
  counted: COUNTED,
};
