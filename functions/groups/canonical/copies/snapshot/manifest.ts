import { pathName } from '../../../../archives/checks.ts';
import { manifestLimits } from '../../../../archives/chunk-list.ts';
import type { ArchiveManifestOf, ManifestKind } from '../../../../archives/manifest.ts';
import { placed, SnapshotError } from '../../../../archives/snapshot-error.ts';
import { canonicalJson, type Json } from '../../../../kernel/canonical-json.ts';
import { parseStrictJsonText } from '../../../../kernel/strict-json.ts';
import { tenantCollections } from '../../records.ts';
import type { SnapshotCounts } from './lines.ts';
import { sameTenant } from './values.ts';

export const ARCHIVE_PROFILE = 'svc.canonical.archive.v1';

interface ArchivedTenant {
  readonly tenantId: string;
}

export type ArchiveManifest = ArchiveManifestOf<typeof ARCHIVE_PROFILE, ArchivedTenant, SnapshotCounts>;

/** The archives of this tenant. */
export function tenantArchives(
  tenantId: string,
): ManifestKind<typeof ARCHIVE_PROFILE, ArchivedTenant, SnapshotCounts> {
  return {
    profile: ARCHIVE_PROFILE,
    required: ARCHIVE_PROFILE,
    ownNames: ['tenantId'],
    readOwn: (given) => {
      pathName(given.tenantId, '/tenantId');
      sameTenant(given.tenantId, tenantId, '/tenantId');
      return { tenantId };
    },
    counted: tenantCollections.map(({ name }) => name as keyof SnapshotCounts),
    parse,
  };
}

/** Does the same as `canonicalValue`, and names the JSON rule that the text breaks. */
function parse(json: string, place: { readonly object: string }): Json {
  const value = placed(place, () => parseStrictJsonText(json, manifestLimits));
  if (canonicalJson(value) !== json) throw new SnapshotError('malformed', 'is not canonical JSON', place);
  return value;
}
