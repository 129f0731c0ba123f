/**
 * An agent at the MCP endpoint: a script in the place of a model searches, reads, and starts a task. Fails at the first broken
 * promise.
 *
 *     npm run example:mcp
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Service } from '../approval/service.ts';
import { runExample } from '../run-example.ts';
import { McpClient } from './client.ts';
import { nextTurn, type Seen } from './model.ts';

const notes = [
  { id: 'n-1', text: 'Workers hold a run under a lease. A lease ends when its worker stops renewing it.' },
  { id: 'n-2', text: 'A commit is one transaction. It holds up to a hundred mutations.' },
  { id: 'n-3', text: 'A search ranks records by words or by a vector. It never lags behind a write.' },
];
const topic = 'how long does a lease hold';

await runExample({
  name: 'example:mcp',
  takes: 'about five seconds',
  async main(undo) {
    const folder = await mkdtemp(join(tmpdir(), 'svc-mcp-'));
    undo(() => rm(folder, { recursive: true, force: true }));
    const service = new Service({
      script: 'functions/embedded.ts',
      // Tasks are off until an operator names them.
      args: ['--Mcp:Enabled=true', '--Mcp:EnabledOperations:0=startRecordBatchUpsertJob'],
      env: { SVC_DATA_DIR: folder },
    });
    undo(() => service.stop());
    await service.start();
    await writeNotes(service.address);
    await converse(new McpClient(`${service.address}/mcp`));
    return 'Every promise was kept';
  },
});

/** The part of the application: it writes the notes over REST. */
async function writeNotes(address: string): Promise<void> {
  const post = async (path: string, body: object): Promise<Response> => {
    const headers = { 'Content-Type': 'application/json' };
    const answer = await fetch(`${address}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`${path} was answered with ${answer.status}`);
    return answer;
  };
  const created = await post('/collections', { name: 'notes' });
  const run = `${address}${created.headers.get('location')}?waitSeconds=10`;
  const statusOf = async () => ((await (await fetch(run)).json()) as { status: string }).status;
  let status = await statusOf();
  while (status === 'queued' || status === 'running') status = await statusOf();
  if (status !== 'succeeded') throw new Error(`the collection is ${status}`);
  for (const { id, text } of notes)
    await post('/collections/notes/records', {
      id,
      partitionKey: 'all',
      type: 'note',
      metadata: {},
      content: { text },
    });
}

/** The part of the agent: it shows the model the tools, makes the calls that the model wants, and shows it their results. */
async function converse(client: McpClient): Promise<void> {
  const tools = await client.tools();
  console.log(`The model sees ${tools.length} tools.`);
  const seen: Seen[] = [];
  for (;;) {
    const turn = nextTurn(topic, tools, seen);
    if ('words' in turn) {
      console.log(turn.words);
      break;
    }
    console.log(`It calls ${turn.call.name}.`);
    const result = await client.call(turn.call.name, turn.call.arguments, (text) =>
      console.log(`  the task is at ${text}`),
    );
    seen.push({ call: turn.call, result });
  }
  const kept = await client.call('svc_records_get_v1', {
    collection: 'notes',
    partitionKey: 'summaries',
    id: 'summary-n-1',
  });
  const { content } = kept.structuredContent as { content?: { text: string } };
  if (content?.text !== 'Workers hold a run under a lease.') throw new Error('the summary is another one');
  console.log(`The record summary-n-1 says: ${content.text}`);
}
