import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Installed, installed, versionOf } from './install.ts';
import type { ClientMode, TriedClient } from './list.ts';
import { type Outcome, outcomeOf, type StepReport, steps } from './steps.ts';
import type { Row } from './table.ts';
import type { World } from './world.ts';

const run = promisify(execFile);
/** Ends a client that hangs. */
const CLIENT_MS = 180_000;

export interface TriedRow extends Row {
  readonly ok: boolean;
  /** It could not be installed, so the row says nothing of it. */
  readonly untried: boolean;
}

/** One row for each mode of the client. */
export async function tryClient(
  client: TriedClient,
  world: World,
  say: (row: TriedRow) => void = () => undefined,
): Promise<readonly TriedRow[]> {
  const version = await versionOf(client);
  const place = await installed(client);
  const rows: TriedRow[] = [];
  for (const mode of client.modes) {
    const named = { client: client.title, version, mode: mode.words };
    const row = { ...named, ...(await triedMode(client, mode, place, world)) };
    say(row);
    rows.push(row);
  }
  return rows;
}

async function triedMode(
  client: TriedClient,
  mode: ClientMode,
  place: Installed,
  world: World,
): Promise<Pick<TriedRow, 'revision' | 'outcome' | 'ok' | 'untried'>> {
  if ('refused' in place) {
    const outcome = `not installed here: ${place.refused.replaceAll('|', '/')}`;
    return { revision: '', outcome, ok: false, untried: true };
  }
  world.recorder.revisions();
  const { ok, words } = await outcomeIn(client, mode, place.folder, world);
  return { revision: world.recorder.revisions().join(', '), outcome: words, ok, untried: false };
}

/** Clients run in processes of their own: one that hangs or ends its process leaves the others. */
async function outcomeIn(
  { from, session }: TriedClient,
  { option }: ClientMode,
  folder: string,
  { env }: World,
): Promise<Outcome> {
  const isPython = from === 'pip';
  const program = isPython ? join(folder, 'bin/python') : process.execPath;
  const script = join(import.meta.dirname, isPython ? 'python_client.py' : 'client-child.ts');
  const own = { ...process.env, ...env, SVC_CLIENT_STEPS: JSON.stringify(steps) };
  const args = [script, session, option, folder];
  const { stdout } = await run(program, args, { env: own, timeout: CLIENT_MS }).catch(
    (error: { readonly stdout?: string }) => ({ stdout: error.stdout ?? '' }),
  );
  const lines = stdout.split('\n').filter((line) => line.startsWith('{"step"'));
  return outcomeOf(lines.map((line) => JSON.parse(line) as StepReport));
}
