import { copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Firestore, Timestamp } from '@google-cloud/firestore';
import { expect, test } from 'vitest';
import { SvcClient } from '../../sdk/typescript/src/index.ts';
import { firestoreHost, firestoreMissing, firestoreProject } from '../support/firestore.ts';
import { Reader } from './guides.ts';
import { Program, root } from './program.ts';

/** The export of documents from Firestore, and their import into a tenant. */

const reason = firestoreMissing === undefined ? '' : ` (skipped: ${firestoreMissing})`;

test.skipIf(firestoreMissing !== undefined)(
  `all documents of a Firestore database come into a tenant${reason}`,
  async () => {
    const projectId = firestoreProject();
    const firestore = new Firestore({ projectId, host: firestoreHost(), ssl: false });
    const ids = Array.from({ length: 305 }, (_, n) => `c${n}`);
    const batch = firestore.batch();
    for (const id of ids) batch.set(firestore.doc(`claims/${id}`), { id, at: new Timestamp(0, 5_000) });
    // The document above this one does not exist.
    batch.set(firestore.doc('claims/gone/notes/n %1?/marks/ü#'), { mark: 1 });
    await batch.commit();
    await firestore.terminate();

    await using reader = await Reader.start();
    for (const name of ['import.ts', 'export.ts', 'documents.ts'])
      await copyFile(join(root, 'docs/coming-from/firestore', name), join(reader.folder, name));
    await using exporting = new Program(['export.ts', projectId], {
      cwd: reader.folder,
      env: { FIRESTORE_EMULATOR_HOST: firestoreHost() },
    });
    expect(await exporting.exit, exporting.stderr).toEqual({ code: 0, signal: null });
    await writeFile(join(reader.folder, 'e.ndjson'), exporting.stdout);
    await using importing = new Program(['import.ts', 'e.ndjson', 'acme'], {
      cwd: reader.folder,
      env: { SVC_BASE_URL: reader.address },
    });
    expect(await importing.exit, importing.stderr).toEqual({ code: 0, signal: null });

    const client = new SvcClient({ baseUrl: reader.address });
    const claims = await client.queryCanonicalDocuments('acme', { documentType: 'claims' }).all();
    expect(claims.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
    expect(claims[0]?.data).toEqual({ at: '1970-01-01T00:00:00.000005Z', id: claims[0]?.id });
    const marks = await client.queryCanonicalDocuments('acme', { documentType: 'claims.notes.marks' }).all();
    expect(marks.map(({ id, data }) => [id, data])).toEqual([['gone/n %1?/ü#', { mark: 1 }]]);
  },
);
