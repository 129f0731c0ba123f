import { expect, test } from 'vitest';
import { BlobError, type BlobStore } from '../blobs/port.ts';
import { StoreError } from '../store/port.ts';
import { stagedFiles } from './hashed-bodies.ts';

const away = () => Promise.reject(new BlobError('unavailable', 'the bucket does not answer'));

test.each([
  ['opened', away],
  ['listed', () => Promise.resolve({ list: away } as unknown as BlobStore)],
])('a place of staged payloads that cannot be %s is away as a store is', async (_, open) => {
  const failure = await stagedFiles(open)
    .page('position')
    .catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(StoreError);
  expect(failure).toMatchObject({ failure: 'unavailable' });
});
