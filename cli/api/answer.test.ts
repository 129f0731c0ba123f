import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runTool } from '../../test/support/operator-tool.ts';

/** A service whose `getHealth` answers hostile text, in pieces that split a character. */
const hostile = 'a\u001b]0;title\u0007b\u001b[2J\tc\nd\u202e\u009b31m\r€';
const bytes = Buffer.from(hostile);
const server = createServer((_, response) => {
  response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' });
  response.write(bytes.subarray(0, -1), () => response.end(bytes.subarray(-1)));
});
let env: Record<string, string>;
beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  env = { SVC_SERVER: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
});
afterAll(() => server.close());

/** Makes the tool believe that a person reads its output. */
const asTerminal = 'data:text/javascript,process.stdout.isTTY=true;process.stdout.columns=80';

describe('an answer that is plain text', () => {
  test('moves no cursor of a terminal', async () => {
    const { code, stdout } = await runTool(['api', 'getHealth'], { env, node: ['--import', asTerminal] });
    expect(code).toBe(0);
    expect(stdout).toBe('a\\u001b]0;title\\u0007b\\u001b[2J\tc\nd\\u202e\\u009b31m\\u000d€');
  });

  test('passes unchanged to a program', async () => {
    expect((await runTool(['api', 'getHealth'], { env })).stdout).toBe(hostile);
  });
});
