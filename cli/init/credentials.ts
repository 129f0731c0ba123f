import { join } from 'node:path';
import { createApiKeyText, hashApiKey } from '../../functions/identity/api-keys.ts';
import type { World } from '../../functions/kernel/world.ts';
import {
  createSigningKey,
  mintToken,
  type PublicKey,
  readSigningKey,
  type SigningKey,
} from '../identity/signing-key.ts';
import { exitCodes, ToolError } from '../output.ts';
import { fileNames, type InitAnswers, ownIssuer } from './answers.ts';
import { type NewFile, textAt } from './files.ts';

/** A day: the first tokens are for trying the service, and a timer makes the next ones. */
export const firstTokenSeconds = 86_400;

/** The files with keys and tokens that the answers ask for. */
export async function credentialFiles(
  answers: InitAnswers,
  { clock, random }: Pick<World, 'clock' | 'random'>,
): Promise<NewFile[]> {
  const files: NewFile[] = [];
  if (answers.identity.kind === 'own') {
    files.push(...(await identityFiles(answers, Math.floor(clock.now() / 1_000))));
  }
  if (answers.apiKey) {
    const key = createApiKeyText(random);
    const list = { keys: [{ id: 'first', hash: hashApiKey(key) }] };
    files.push(
      { name: fileNames.apiKeyHashes, text: jsonText(list), secret: false, purpose: 'hashes of API keys' },
      { name: fileNames.apiKey, text: `${key}\n`, secret: true, purpose: 'API key of callers' },
    );
  }
  return files;
}

async function identityFiles(answers: InitAnswers, now: number): Promise<NewFile[]> {
  const { out, audience, principals } = answers;
  const key = await keyIn(out);
  const all = [principals.app, principals.worker, principals.operator].filter((name) => name !== null);
  const tokens = [...tokenFiles(all)].map(([name, principal]) => ({
    name,
    text: `${mintToken(key, {
      issuer: ownIssuer,
      audience,
      principal,
      principalClaim: 'sub',
      issuedAt: now,
      lifetimeSeconds: firstTokenSeconds,
    })}\n`,
    secret: true,
    purpose: `identity token of ${principal}, for 24 hours`,
  }));
  const published = withKey(await textAt(join(out, fileNames.keySet)), key.jwk);
  return [
    { name: fileNames.keySet, text: published, secret: false, purpose: 'public keys that verify tokens' },
    { name: fileNames.signingKey, text: key.pem, secret: true, purpose: 'signs identity tokens' },
    ...tokens,
  ];
}

/** Keeps the key of an earlier `svc init`: its tokens stay valid. */
async function keyIn(folder: string): Promise<SigningKey> {
  const path = join(folder, fileNames.signingKey);
  const pem = await textAt(path);
  return pem === null ? createSigningKey() : readSigningKey(pem, path);
}

/**
 * The key set with this key, beside the keys that it holds already.
 * @testonly
 */
export function withKey(text: string | null, key: PublicKey): string {
  const { keys = [] } = text === null ? {} : (JSON.parse(text) as { keys?: readonly PublicKey[] });
  return jsonText({ keys: [...keys.filter(({ kid }) => kid !== key.kid), key] });
}

/** Each principal by the name of its token file. Two principals with one file would lose a token. */
function tokenFiles(principals: readonly string[]): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  // Some file systems take `App.token` and `app.token` for one file.
  const owners = new Map<string, string>();
  for (const principal of principals) {
    const name = `${fileNameOf(principal)}.token`;
    const owner = owners.get(name.toLowerCase());
    if (owner !== undefined && owner !== principal) {
      const both = `The principals ${JSON.stringify(owner)} and ${JSON.stringify(principal)}`;
      throw new ToolError(
        `${both} need the same token file, ${name}: choose names that differ in letters, digits, @, dots or dashes.\nNothing was written.`,
        exitCodes.usage,
      );
    }
    owners.set(name.toLowerCase(), principal);
    files.set(name, principal);
  }
  return files;
}

/** The name of a principal as a file name that no folder can hide in. */
export function fileNameOf(principal: string): string {
  return principal.replace(/[^A-Za-z0-9@._-]/g, '_').replace(/^\.+/, '_');
}

function jsonText(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
