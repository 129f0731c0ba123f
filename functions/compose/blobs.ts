import { join, resolve } from 'node:path';
import type { BlobStore } from '../blobs/port.ts';
import type { Settings } from '../config/table.ts';
import { lazy } from '../kernel/lazy.ts';
import type { World } from '../kernel/world.ts';
import { layer } from './layer.ts';

/**
 * The blob store for artifacts that are too large for the run store: a bucket, or files beside the embedded store. Other
 * stores have no blob store by default, because the files of a cloud function do not outlive its process.
 */
export function blobsOf(
  settings: Settings,
  world: World,
  readOnly = false,
): (() => Promise<BlobStore>) | null {
  const { execution, service, canonicalStore } = settings;
  const { artifactDirectory, artifactObjectContainer: bucket, artifactStorageEndpoint: endpoint } = execution;
  if (artifactDirectory === null && bucket === null && canonicalStore.provider !== 'sqlite') return null;
  const folder = resolve(artifactDirectory ?? join(service.dataDirectory, 'artifacts'));
  const blobs = lazy(
    async () => {
      if (bucket !== null) {
        const { openCloudStorageBlobs } = await import('../blobs/cloud-storage/store.ts');
        return openCloudStorageBlobs({ bucket, ...world, ...(endpoint === null ? {} : { endpoint }) });
      }
      const { openFileBlobs } = await import('../blobs/files/store.ts');
      return openFileBlobs({ folder, readOnly, ...world });
    },
    (opened) => opened.close(),
  );
  return blobs.get;
}

/** The blob store of the process, for all groups and the execution runtime. */
export const processBlobsOf = layer(({ settings, world, readOnly }) => blobsOf(settings, world, readOnly));
