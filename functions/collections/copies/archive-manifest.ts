import { name } from '../../archives/checks.ts';
import type { ArchiveManifestOf, ManifestKind } from '../../archives/manifest.ts';
import { carriedSpaceCollections, type SpaceCounts } from './archive-lines.ts';

export const SPACE_PROFILE = 'svc.records.archive.v1';

interface ArchivedSpace {
  readonly space: string;
}

export type SpaceManifest = ArchiveManifestOf<typeof SPACE_PROFILE, ArchivedSpace, SpaceCounts>;

export const spaceArchives: ManifestKind<typeof SPACE_PROFILE, ArchivedSpace, SpaceCounts> = {
  profile: SPACE_PROFILE,
  required: `${SPACE_PROFILE}: the archive of another kind has commands of its own`,
  ownNames: ['space'],
  readOwn: ({ space }) => ({ space: name(space, '/space') }),
  counted: carriedSpaceCollections,
};
