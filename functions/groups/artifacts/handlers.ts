import type { GroupHandlers } from '../../http/handler.ts';
import type { ArtifactsDependencies } from './dependencies.ts';
import { ingestRecordArtifact } from './ingest-artifact.ts';

/** The operations of the group artifacts over one store. */
export function artifactsHandlers(dependencies: ArtifactsDependencies): GroupHandlers<'artifacts'> {
  return { ingestRecordArtifact: ingestRecordArtifact(dependencies) };
}
