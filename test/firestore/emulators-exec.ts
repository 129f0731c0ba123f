import { expect, test } from 'vitest';
import { firestoreHost } from '../support/firestore.ts';
import { statusOf } from './rules-client.ts';

/** Runs inside `firebase emulators:exec` only: scripts/emulators-exec.ts names it. */
test('firebase-tools loads the rules that firebase.json names', async () => {
  expect(process.env['FIRESTORE_EMULATOR_HOST']).toBe(firestoreHost());
  expect(process.env['GCLOUD_PROJECT']).toBe('demo-svc');
  for (const access of ['read', 'list', 'write', 'delete'] as const)
    expect(await statusOf(firestoreHost(), 'demo-svc', { access, path: 'tenants/t' })).toBe(403);
});
