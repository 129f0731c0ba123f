import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServer } from '../support/server-process.ts';
import { type Recorder, startRecorder } from './recorder.ts';

/** The embedded server with the endpoint, an API key, and a collection with one record. */
export interface World extends AsyncDisposable {
  readonly recorder: Recorder;
  /** A folder of this world alone, also the home of the clients. */
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
}

const KEY = 'key-of-the-clients';

export async function startWorld(...settings: readonly string[]): Promise<World> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-clients-'));
  const keyFile = join(folder, 'key');
  await writeFile(keyFile, KEY, { mode: 0o600 });
  const server = await startServer({ SVC_DATA_DIR: join(folder, 'data'), SVC_API_KEY: KEY }, [
    'Mcp:Enabled=true',
    'Mcp:RateLimit:PermitLimit=100000',
    ...settings,
  ]);
  const recorder = await startRecorder(server.address);
  const world: World = {
    recorder,
    folder,
    env: {
      SVC_CLIENT_URL: `${recorder.address}/mcp`,
      SVC_CLIENT_SERVER: recorder.address,
      SVC_CLIENT_KEY: KEY,
      SVC_CLIENT_KEY_FILE: keyFile,
      SVC_CLIENT_HOME: folder,
    },
    async [Symbol.asyncDispose]() {
      await recorder.close();
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
  try {
    await writeNote(server.address);
    return world;
  } catch (error) {
    await world[Symbol.asyncDispose]();
    throw error;
  }
}

async function writeNote(address: string): Promise<void> {
  const headers = { 'Content-Type': 'application/json', 'X-Svc-Api-Key': KEY };
  const ask = async (path: string, body?: object): Promise<Response> => {
    const sent = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
    const answer = await fetch(`${address}${path}`, { headers, ...sent });
    if (!answer.ok) throw new Error(`${path} was answered with ${answer.status}`);
    return answer;
  };
  const run = (await ask('/collections', { name: 'notes' })).headers.get('location');
  for (let status = 'queued'; status !== 'succeeded'; ) {
    ({ status } = (await (await ask(`${run}?waitSeconds=10`)).json()) as { status: string });
    if (status === 'failed') throw new Error('the collection was not made');
  }
  const content = { text: 'Workers hold a run under a lease.' };
  const record = { id: 'n-1', partitionKey: 'all', type: 'note', metadata: {}, content };
  await ask('/collections/notes/records', record);
}
