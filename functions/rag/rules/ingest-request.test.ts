import { expect, test } from 'vitest';
import { removesRecords } from './ingest-request.ts';

test.each([
  [null, false],
  [{}, false],
  [{ replaceDocumentChunks: false }, false],
  [{ replaceDocumentChunks: true }, true],
  [{ replaceDocumentChunks: true, dryRun: false }, true],
  [{ replaceDocumentChunks: true, dryRun: true }, false],
])('an ingestion with the options %j removes records: %j', (options, removes) => {
  expect(removesRecords(options)).toBe(removes);
});
