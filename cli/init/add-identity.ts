import { statSync } from 'node:fs';
import { join } from 'node:path';
import { checkConfiguration } from '../../functions/config/check.ts';
import { faultsText } from '../../functions/config/fault.ts';
import { createApiKeyText, hashApiKey } from '../../functions/identity/api-keys.ts';
import type { World } from '../../functions/kernel/world.ts';
import { mintToken, readSigningKey } from '../identity/signing-key.ts';
import { exitCodes, ToolError } from '../output.ts';
import { type Addition, withIdentity } from './added-identity.ts';
import { fileNames, ownIssuer } from './answers.ts';
import { fileNameOf, firstTokenSeconds } from './credentials.ts';
import { textAt } from './files.ts';
import { type Change, writeTogether } from './rewrite.ts';

export interface AddIdentityOptions {
  readonly out: string;
  readonly principal: string;
  readonly tenants: readonly string[] | null;
}

type Added = Extract<Addition, { readonly settings: unknown }>;

/** A file with the place where it lies, which need not be the folder of the settings. */
interface PlacedFile extends Change {
  readonly name: string;
  readonly purpose: string;
  readonly mode: number;
}

/** Adds an application identity to the settings of an earlier `svc init`. Answers what the command prints. */
export async function addIdentity(
  { out, principal, tenants }: AddIdentityOptions,
  world: Pick<World, 'clock' | 'random'>,
): Promise<string> {
  const path = join(out, fileNames.settings);
  const added = additionTo(path, await settingsAt(path), {
    principal,
    tenants: tenants === null ? null : [...new Set(tenants)],
  });
  refuseFaults(path, added);
  const token = await tokenFile(out, added, principal, Math.floor(world.clock.now() / 1_000));
  const key = added.apiKeyFile === null ? null : await keyFile(added.apiKeyFile, principal, world);
  const text = `${JSON.stringify(added.settings, null, 2)}\n`;
  const settings = { path, name: fileNames.settings, text, mode: modeOf(path), purpose: 'settings' };
  // Settings last: a killed command leaves credentials that nothing admits. The key is printed once all are there.
  const files = [token, key?.file ?? null, settings].filter((file) => file !== null);
  await writeTogether(files);
  return report(principal, added, files, key?.text ?? null);
}

async function settingsAt(path: string): Promise<unknown> {
  const text = await textAt(path);
  if (text === null)
    throw new ToolError(
      `${path} is not there: svc init writes it, and then takes --add-identity`,
      exitCodes.notFound,
    );
  try {
    return JSON.parse(text);
  } catch {
    throw notOfInit(path, 'it is not plain JSON');
  }
}

function additionTo(path: string, given: unknown, identity: Parameters<typeof withIdentity>[1]): Added {
  const added = withIdentity(given, identity);
  if ('usage' in added) throw new ToolError(`${path}: ${added.usage}. Nothing was written.`, exitCodes.usage);
  if (!('refusal' in added)) return added;
  if (added.isThere === true)
    throw new ToolError(`${path}: ${added.refusal}. Nothing was written.`, exitCodes.conflict);
  throw notOfInit(path, added.refusal);
}

function notOfInit(path: string, reason: string): ToolError {
  const message = `${path} is not of the form that svc init writes: ${reason}. Add the policies by hand (docs/access.md). Nothing was written.`;
  return new ToolError(message, exitCodes.usage);
}

/** The rules of the service judge the settings before a file is written. Secrets of the environment are not known here. */
function refuseFaults(path: string, { settings }: Added): void {
  const { findings } = checkConfiguration({
    host: 'embedded',
    env: { CanonicalStore__ConnectionString: 'postgresql://x' },
    argv: [],
    readFile: (name) => (name === fileNames.settings ? JSON.stringify(settings) : undefined),
  });
  const faults = findings.filter(({ severity, key }) => severity === 'fault' && key.includes('Access'));
  if (faults.length > 0)
    throw new ToolError(`${path}: ${faultsText(faults)}\nNothing was written.`, exitCodes.usage);
}

/** A token of the principal where this folder holds the key that signs them; `null` where another issuer makes them. */
async function tokenFile(
  out: string,
  { issuer, audience }: Added,
  principal: string,
  issuedAt: number,
): Promise<PlacedFile | null> {
  const keyPath = join(out, fileNames.signingKey);
  const pem = issuer === ownIssuer ? await textAt(keyPath) : null;
  if (pem === null) return null;
  const name = `${fileNameOf(principal)}.token`;
  const path = join(out, name);
  if ((await textAt(path)) !== null)
    throw new ToolError(
      `${path} is there already: remove it if a call was killed before it wrote the settings, or choose another name. Nothing was written.`,
      exitCodes.conflict,
    );
  const claims = { issuer: ownIssuer, audience, principal, principalClaim: 'sub' as const, issuedAt };
  const text = `${mintToken(readSigningKey(pem, keyPath), { ...claims, lifetimeSeconds: firstTokenSeconds })}\n`;
  return { path, name, text, mode: 0o600, purpose: `identity token of ${principal}, for 24 hours` };
}

/** The list of hashes with one more, and the key itself, which is kept nowhere. */
async function keyFile(path: string, principal: string, { random }: Pick<World, 'random'>) {
  const list = keysIn(await textAt(path));
  if (list === null) throw notOfInit(path, 'it is not a list of keys');
  const id = fileNameOf(principal);
  if (list.some((each) => each.id === id))
    throw new ToolError(
      `${path} has a key of the id ${id} already: remove it if a call was killed before it wrote the settings. Nothing was written.`,
      exitCodes.conflict,
    );
  const text = createApiKeyText(random);
  const keys = [...list, { id, hash: hashApiKey(text) }];
  const json = `${JSON.stringify({ keys }, null, 2)}\n`;
  const file = {
    path,
    name: fileNames.apiKeyHashes,
    text: json,
    mode: modeOf(path),
    purpose: 'hashes of API keys',
  };
  return { text, file };
}

function keysIn(text: string | null): readonly { readonly id?: unknown }[] | null {
  try {
    const { keys } = JSON.parse(text ?? '') as { readonly keys?: unknown };
    return Array.isArray(keys) ? (keys as readonly { readonly id?: unknown }[]) : null;
  } catch {
    return null;
  }
}

function modeOf(path: string): number {
  return (statSync(path, { throwIfNoEntry: false })?.mode ?? 0o600) & 0o777;
}

/** Whether the owner of the file alone may read it. */
function isSecret(mode: number): boolean {
  return (mode & 0o077) === 0;
}

function report(principal: string, added: Added, files: readonly PlacedFile[], key: string | null): string {
  const lines = [
    `${principal} may do what ${added.like} may. Written:`,
    ...files.map(
      ({ path, purpose, mode }) => `  ${path}  ${purpose}${isSecret(mode) ? ` (0${mode.toString(8)})` : ''}`,
    ),
    ...added.changed.map((member) => `    ${member}`),
  ];
  if (key !== null) lines.push('', `Its API key, which is shown once: ${key}`);
  if (!files.some(({ name }) => name.endsWith('.token')))
    lines.push(
      '',
      `Its tokens come from the issuer of the settings${added.issuer === ownIssuer ? ': svc identity-token signs one' : ''}.`,
    );
  lines.push('', 'Restart the service: it reads its settings when it starts.');
  return lines.join('\n');
}
