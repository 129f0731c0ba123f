/**
 * Writes all documents of a Firestore database, one line of JSON for each, as they are at one moment:
 *
 *     FIRESTORE_TOKEN=$(gcloud auth print-access-token) node export.ts my-project > export.ndjson
 *
 * With FIRESTORE_EMULATOR_HOST it reads the emulator.
 */
import { once } from 'node:events';

const [, , project = '', database = '(default)'] = process.argv;
if (project === '') throw new Error('node export.ts <project> [<database>]');
const emulator = process.env['FIRESTORE_EMULATOR_HOST'];
const origin = emulator === undefined ? 'https://firestore.googleapis.com' : `http://${emulator}`;
const authorization = `Bearer ${emulator === undefined ? process.env['FIRESTORE_TOKEN'] : 'owner'}`;
const root = `projects/${project}/databases/${database}/documents`;
// The emulator keeps no earlier moments.
const readTime = emulator === undefined ? new Date(Date.now() - 1_000).toISOString() : undefined;

interface Found {
  /** Absent in an answer that has only the time. */
  readonly document?: { readonly name: string };
}

/** The next documents of the whole database, below one another or not, by their names. */
async function pageAfter(last: string | null): Promise<readonly NonNullable<Found['document']>[]> {
  const answer = await fetch(`${origin}/v1/${root}:runQuery`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify({
      readTime,
      structuredQuery: {
        from: [{ allDescendants: true }],
        orderBy: [{ field: { fieldPath: '__name__' }, direction: 'ASCENDING' }],
        limit: 300,
        ...(last === null ? {} : { startAt: { values: [{ referenceValue: last }], before: false } }),
      },
    }),
  });
  if (!answer.ok) throw new Error(`Firestore answered ${answer.status}: ${await answer.text()}`);
  const found = (await answer.json()) as readonly Found[];
  return found.flatMap(({ document }) => (document === undefined ? [] : [document]));
}

for (let last: string | null = null; ; ) {
  const documents = await pageAfter(last);
  for (const document of documents)
    if (!process.stdout.write(`${JSON.stringify(document)}\n`)) await once(process.stdout, 'drain');
  const end = documents.at(-1);
  if (end === undefined) break;
  last = end.name;
}
