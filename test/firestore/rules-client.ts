import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A client as an application would have it: it speaks to the database directly, under the rules. */

export const projectRules = readFileSync(join(import.meta.dirname, '../../infra/firestore.rules'), 'utf8');

/** Gives a project of the emulator its rules. */
export async function loadRules(host: string, projectId: string, content: string): Promise<void> {
  const response = await fetch(`http://${host}/emulator/v1/projects/${projectId}:securityRules`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ rules: { files: [{ name: 'firestore.rules', content }] } }),
  });
  if (!response.ok) throw new Error(`the emulator refused the rules: ${await response.text()}`);
}

/** Emulators accept tokens without a signature. */
export function userToken(projectId: string): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const seconds = Math.floor(Date.now() / 1000);
  const claims = {
    iss: `https://securetoken.google.com/${projectId}`,
    aud: projectId,
    sub: 'user',
    user_id: 'user',
    iat: seconds,
    exp: seconds + 3600,
  };
  return `${part({ alg: 'none', typ: 'JWT' })}.${part(claims)}.`;
}

export type Access = 'read' | 'list' | 'write' | 'delete';

/** The status of one access. `token` is absent, of a user, or `owner`, as the service has it. */
export async function statusOf(
  host: string,
  projectId: string,
  { access, path, token }: { readonly access: Access; readonly path: string; readonly token?: string },
): Promise<number> {
  const documents = `http://${host}/v1/projects/${projectId}/databases/(default)/documents`;
  const method = { read: 'GET', list: 'GET', write: 'PATCH', delete: 'DELETE' }[access];
  const target = access === 'list' ? path.slice(0, path.lastIndexOf('/')) : path;
  const response = await fetch(`${documents}/${target}`, {
    method,
    headers: {
      'content-type': 'application/json',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    ...(access === 'write' ? { body: JSON.stringify({ fields: { a: { stringValue: 'b' } } }) } : {}),
  });
  await response.arrayBuffer();
  return response.status;
}
