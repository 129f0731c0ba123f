import { afterAll, beforeAll, expect, test } from 'vitest';
import { answerTable } from '../../cli/api/table.ts';
import type { ExecutionRun } from '../../contracts/generated/models.ts';
import { revisions } from '../../functions/mcp/revisions.ts';
import { clientOf } from '../mcp/any-revision.ts';
import { IDENTITY, type McpService, startMcpService } from '../mcp/service-stage.ts';
import { lineFault } from './log-lines.ts';

/** A text of a failure may have several lines. None of them becomes a line of a log, a table or the content of a tool. */

const LOG_LINE = '{"severity":"ERROR","message":"forged"}';
const texts: readonly (readonly [what: string, text: string])[] = [
  ['a line of the log', `a\n${LOG_LINE}`],
  ['a line of the log after CR LF', `a\r\n${LOG_LINE}\r\n`],
  ['a line that CR writes over', `a\r${LOG_LINE}`],
  ['a row of a table', 'a\nid  status\n7   succeeded'],
  ['cells of a table', 'a\tsucceeded\tb'],
];

let service: McpService;
beforeAll(async () => {
  service = await startMcpService({
    settings: {
      'ExecutionRuntime:Plugins:0': './test/security/forging-plugin.ts',
      'Server:LogLevel': 'debug',
    },
  });
  await service.start();
});
afterAll(() => service.close());

const clients = revisions.map((revision) => clientOf(() => service, revision));

const headers = { [IDENTITY]: 'writer' };
const read = (path: string) => service.ended({ method: 'GET', path, headers });

test.each(texts)('%s', async (_, text) => {
  service.lines.length = 0;
  const scope = { productId: 'papers', tenantId: 'acme' };
  const body = { handlerId: 'forging.write', payload: text, scope };
  const started = await service.call({ method: 'POST', path: '/execution/runs', headers, body });
  const { id } = started.json<ExecutionRun>();
  const run = (await read(`/execution/runs/${id}`)).json<ExecutionRun>();
  expect(run).toMatchObject({ status: 'failed', error: text, statusDetails: { text } });

  expect(service.lines.length).toBeGreaterThan(0);
  // Lines about runs have messages of their own.
  const faults = service.lines.map(lineFault).filter((fault) => fault !== 'says what we do not say');
  expect(faults).toEqual(faults.map(() => null));
  expect(service.lines.filter((line) => line.includes('forged'))).toEqual([]);

  const history = (await read(`/execution/runs/${id}/history`)).json<object[]>();
  const seen = text.trimEnd().split(/[\r\n]+/);
  for (const table of [answerTable(run), answerTable([run]), answerTable(history)]) {
    expect(table).not.toMatch(/[\r\t]/);
    for (const line of table.split('\n')) expect(seen.slice(1)).not.toContain(line.trim());
  }
  const asked = ['svc_execution_get_run_v1', 'svc_execution_get_run_history_v1'].flatMap((tool) =>
    clients.map((client) => [tool, client] as const),
  );
  for (const [tool, client] of asked) {
    const result = await client.call('writer', tool, { runId: id });
    const [content] = result['content'] as readonly { readonly text: string }[];
    expect(result['isError']).not.toBe(true);
    expect(content?.text).toContain(JSON.stringify(text).slice(1, -1));
    expect(content?.text).not.toMatch(/[\r\t]/);
    for (const line of content?.text.split('\n') ?? []) expect(seen.slice(1)).not.toContain(line.trim());
  }
});
