import type { ArtifactRecordIngestManifest } from '../../../contracts/generated/models.ts';
import { checkCollectionName } from '../../collections/rules/policy.ts';
import { membersOf } from '../../kernel/json-slices.ts';
import { readMediaType } from './media-type.ts';
import { type ObjectMetadata, readMetadata } from './metadata.ts';
import { type ObjectPlace, readPlace } from './object-name.ts';

/** The target of an artifact and its record. */
export interface ArtifactManifest {
  readonly collection: string;
  /** The record as its JSON text, which has passed no rule of its collection. */
  readonly recordText: string;
  readonly place: ObjectPlace;
  readonly contentType: string | null;
  readonly metadata: ObjectMetadata;
  /** The proof of the external context; `null` where the caller gives none. */
  readonly token: string | null;
}

/**
 * Reads a manifest whose members have the types of its schema. `text` is the same as JSON without white space around its tokens.
 * Throws `validation_failed` or `limit_exceeded` naming the member below `pointer`.
 */
export function readManifest(
  manifest: Pick<ArtifactRecordIngestManifest, 'collection' | 'artifact' | 'externalContext'>,
  text: string,
  pointer: string,
): ArtifactManifest {
  const { collection, artifact, externalContext } = manifest;
  const at = `${pointer}/artifact`;
  const record = membersOf(text).find(({ name }) => name === 'record');
  return {
    collection: checkCollectionName(collection, `${pointer}/collection`),
    recordText: record?.value ?? 'null',
    place: readPlace(artifact, at),
    contentType: readMediaType(artifact.contentType, `${at}/contentType`),
    metadata: readMetadata(Object.entries(artifact.metadata ?? {}), `${at}/metadata`),
    token: externalContext?.token ?? null,
  };
}
