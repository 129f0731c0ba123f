import { describe, expect, test } from 'vitest';
import { firestoreHost, firestoreMissing, firestoreProject } from '../support/firestore.ts';
import { type Access, loadRules, projectRules, statusOf, userToken } from './rules-client.ts';

const kinds: readonly Access[] = ['read', 'list', 'write', 'delete'];
const paths = ['tenants/t', 'tenants/t/documents/d', 'system/s', 'anything/else/at/all'];

describe.skipIf(firestoreMissing !== undefined)('the rules of the database', () => {
  test.each(kinds)('let no client %s, with or without a user', async (access) => {
    const projectId = firestoreProject();
    await loadRules(firestoreHost(), projectId, projectRules);
    for (const path of paths) {
      const anonymous = await statusOf(firestoreHost(), projectId, { access, path });
      const user = { access, path, token: userToken(projectId) };
      expect([path, anonymous, await statusOf(firestoreHost(), projectId, user)]).toEqual([path, 403, 403]);
    }
  });

  test('do not concern the service', async () => {
    const projectId = firestoreProject();
    await loadRules(firestoreHost(), projectId, projectRules);
    const path = 'tenants/t';
    const statuses = kinds.map((access) =>
      statusOf(firestoreHost(), projectId, { access, path, token: 'owner' }),
    );
    expect(await Promise.all(statuses)).not.toContain(403);
  });

  test('a planted rule that gives users access is found', async () => {
    const projectId = firestoreProject();
    const planted = projectRules.replace('if false', 'if request.auth != null');
    await loadRules(firestoreHost(), projectId, planted);
    const request = { access: 'write', path: 'tenants/t' } as const;
    const user = { ...request, token: userToken(projectId) };
    expect(await statusOf(firestoreHost(), projectId, user)).toBe(200);
    expect(await statusOf(firestoreHost(), projectId, request)).toBe(403);
  });
});
