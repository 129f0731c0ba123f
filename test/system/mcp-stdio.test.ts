import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runTool, startTool } from '../support/operator-tool.ts';
import { type ServerProcess, startServer } from '../support/server-process.ts';

/** `svc mcp serve` as desktop programs start it: the official client over pipes, and a service that needs a key. */

const folder = mkdtempSync(join(tmpdir(), 'svc-mcp-stdio-'));
const keyFile = join(folder, 'key');
const main = resolve(import.meta.dirname, '../../cli/main.ts');
const KEY = 'a-key-of-this-test';
const modern = { versionNegotiation: { mode: { pin: '2026-07-28' } } } as const;

let server: ServerProcess;

beforeAll(async () => {
  writeFileSync(keyFile, `${KEY}\n`, { mode: 0o600 });
  server = await startServer({ SVC_DATA_DIR: join(folder, 'data'), SVC_API_KEY: KEY }, ['Mcp:Enabled=true']);
});

afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

const serveArgs = (address: string, file = keyFile) => [
  'mcp',
  'serve',
  '--server',
  address,
  '--api-key-file',
  file,
];

async function connected(
  address: string,
  options: ConstructorParameters<typeof Client>[1],
  file?: string,
): Promise<Client> {
  const client = new Client({ name: 'desktop', version: '1.0.0' }, options);
  const args = [main, ...serveArgs(address, file)];
  await client.connect(new StdioClientTransport({ command: process.execPath, args, stderr: 'ignore' }));
  return client;
}

const line = (id: number, method: string, params: object = {}) => {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  return `${JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, _meta: meta } })}\n`;
};

describe('the official client of 2026-07-28 over pipes', () => {
  test('lists, calls and reads, side by side, and ends the process with its pipes', async () => {
    const client = await connected(server.address, modern);
    const [{ tools }, { resources }, answer, health] = await Promise.all([
      client.listTools(),
      client.listResources(),
      client.callTool({ name: 'svc_collections_list_v1', arguments: {} }),
      client.readResource({ uri: 'svc://health/v1' }),
    ]);
    expect(tools.map(({ name }) => name)).toContain('svc_records_query_v1');
    expect(resources).toHaveLength(4);
    expect(answer.isError).not.toBe(true);
    expect(health.contents).toMatchObject([{ uri: 'svc://health/v1' }]);
    await expect(client.callTool({ name: 'svc_nothing_v1', arguments: {} })).rejects.toMatchObject({
      code: -32_602,
    });
    await client.close();
  });

  test('goes on after a renewed key: the file is read for each message', async () => {
    const file = join(folder, 'renewed');
    writeFileSync(file, KEY);
    const client = await connected(server.address, modern, file);
    writeFileSync(file, 'an-old-key');
    await expect(client.listTools()).rejects.toThrow(/credential/);
    writeFileSync(file, KEY);
    expect((await client.listTools()).tools.length).toBeGreaterThan(0);
    await client.close();
  });
});

test('the official client as it is agrees on an older revision over pipes, and lists, calls and reads', async () => {
  const client = await connected(server.address, {});
  expect(client.getNegotiatedProtocolVersion()).toBe('2025-11-25');
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toContain('svc_records_query_v1');
  const answer = await client.callTool({ name: 'svc_collections_list_v1', arguments: {} });
  expect(answer.structuredContent).toMatchObject({ items: [] });
  const { contents } = await client.readResource({ uri: 'svc://health/v1' });
  expect(contents).toMatchObject([{ uri: 'svc://health/v1' }]);
  await expect(client.callTool({ name: 'svc_nothing_v1', arguments: {} })).rejects.toMatchObject({
    code: -32_602,
  });
  await client.close();
});

describe('a client of an older revision over pipes', () => {
  /** A service that answers as one of those revisions: what it gets is what the tool sent. */
  interface Got {
    readonly method: string;
    readonly version: string | undefined;
    readonly mirrored: string | undefined;
    readonly key: string | undefined;
  }
  const got: Got[] = [];
  let older: Server;
  let address: string;

  beforeAll(async () => {
    older = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => {
        body += chunk.toString();
      });
      request.on('end', () => {
        const { id, method } = JSON.parse(body) as { id?: number; method: string };
        const field = (name: string) => request.headers[name] as string | undefined;
        got.push({
          method,
          version: field('mcp-protocol-version'),
          mirrored: field('mcp-method'),
          key: field('x-svc-api-key'),
        });
        if (id === undefined) {
          response.writeHead(202).end();
          return;
        }
        response.writeHead(200, { 'Content-Type': 'application/json' });
        response.end(JSON.stringify({ jsonrpc: '2.0', id, result: resultOf(method) }));
      });
    });
    await new Promise<void>((ready) => older.listen(0, '127.0.0.1', ready));
    address = `http://127.0.0.1:${(older.address() as AddressInfo).port}`;
  });

  afterAll(() => older.close());

  function resultOf(method: string): object {
    if (method !== 'initialize') return { tools: [{ name: 'a', inputSchema: { type: 'object' } }] };
    return {
      protocolVersion: '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: 'svc', version: '1' },
    };
  }

  test('agrees on a version, which travels with each later message', async () => {
    const client = await connected(address, {});
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['a']);
    await client.close();
    expect(got).toEqual([
      { method: 'initialize', version: undefined, mirrored: undefined, key: KEY },
      { method: 'notifications/initialized', version: '2025-06-18', mirrored: undefined, key: KEY },
      { method: 'tools/list', version: '2025-06-18', mirrored: undefined, key: KEY },
    ]);
  });
});

describe('the process', () => {
  test('answers what was sent before the end of its input, and writes nothing but messages', async () => {
    const input = `${line(1, 'tools/list')}\nnot json\n${line(2, 'tools/call', { name: 'svc_collections_list_v1', arguments: {} })}`;
    const { code, stdout, stderr } = await runTool([...serveArgs(server.address), '--verbose'], { input });
    expect(code).toBe(0);
    const answers = stdout
      .trimEnd()
      .split('\n')
      .map((each) => JSON.parse(each) as { id?: number; error?: object });
    expect(answers).toHaveLength(3);
    expect(new Set(answers.map(({ id }) => id))).toEqual(new Set([undefined, 1, 2]));
    expect(answers.find(({ id }) => id === undefined)).toMatchObject({ error: { code: -32_700 } });
    expect(stderr).toContain(`Serving ${server.address}`);
    expect(`${stdout}${stderr}`).not.toContain(KEY);
  });

  test.each(['SIGTERM', 'SIGINT'] as const)('ends well with %s', async (signal) => {
    const tool = startTool(serveArgs(server.address));
    await tool.says('Serving');
    tool.process.kill(signal);
    expect(await tool.ended).toMatchObject({ code: 0, stdout: '' });
  });

  test('passes progress on while the call runs, and ends the call that the client cancels', async () => {
    const closed = Promise.withResolvers<void>();
    const progress = {
      jsonrpc: '2.0',
      method: 'notifications/progress',
      params: { progressToken: 1, progress: 1 },
    };
    const slow = createServer((_, response) => {
      response.once('close', () => closed.resolve());
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      response.write(`data: ${JSON.stringify(progress)}\n\n`);
    });
    await new Promise<void>((ready) => slow.listen(0, '127.0.0.1', ready));
    const tool = startTool(serveArgs(`http://127.0.0.1:${(slow.address() as AddressInfo).port}`));
    tool.process.stdin?.write(line(1, 'tools/call', { name: 'a', arguments: {} }));
    await tool.says('notifications/progress');
    const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } };
    tool.process.stdin?.write(`${JSON.stringify(cancelled)}\n`);
    await closed.promise;
    tool.process.stdin?.end();
    expect(await tool.ended).toMatchObject({ code: 0, stdout: `${JSON.stringify(progress)}\n` });
    slow.close();
  });

  test('answers that the service is not there, and what to do', async () => {
    const closed = createServer().listen(0, '127.0.0.1');
    await new Promise((ready) => closed.once('listening', ready));
    const { port } = closed.address() as AddressInfo;
    await new Promise((done) => closed.close(done));
    const { code, stdout } = await runTool(serveArgs(`http://127.0.0.1:${port}`), {
      input: line(1, 'tools/list'),
    });
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      id: 1,
      error: { code: -32_603, message: expect.stringMatching(/refuses connections.*try again/) },
    });
  });

  test.each([
    [['--api-key', KEY], 2, /--api-key-file/],
    [['--identity-token', 'a.b.c'], 2, /--identity-token-file/],
    [['--api-key-file', '-'], 2, /Standard input/],
    [['--api-key-file', '/nowhere/key'], 3, /nowhere/],
  ])('refuses %j before it serves', async (args, exit, words) => {
    const { code, stdout, stderr } = await runTool(['mcp', 'serve', '--server', server.address, ...args]);
    expect([code, stdout]).toEqual([exit, '']);
    expect(stderr).toMatch(words);
    expect(stderr).not.toContain(KEY);
  });
});

describe('svc mcp install', () => {
  const file = join(folder, 'programs', 'claude.json');
  const install = (client: string, ...more: string[]) =>
    runTool(['mcp', 'install', client, '--server', server.address, '--api-key-file', keyFile, ...more], {
      env: { SVC_IDENTITY_TOKEN: 'a.secret.token', HOME: folder },
    });

  test('writes an entry with which a program reaches the service', async () => {
    const { code, stdout, stderr } = await install('claude-desktop', '--write', '--file', file);
    expect([code, stdout]).toEqual([0, `${file}\n`]);
    const text = readFileSync(file, 'utf8');
    expect(`${text}${stderr}`).not.toMatch(/secret|a-key-of-this-test/);
    const { mcpServers } = JSON.parse(text) as { mcpServers: { svc: { command: string; args: string[] } } };
    const client = new Client({ name: 'desktop', version: '1.0.0' }, modern);
    await client.connect(new StdioClientTransport({ ...mcpServers.svc, cwd: tmpdir(), stderr: 'ignore' }));
    expect((await client.listTools()).tools.length).toBeGreaterThan(0);
    await client.close();
  });

  test('keeps the other members and the mode of a file, and the file as it was', async () => {
    const given = join(folder, 'kept.json');
    const before = '{ "theme": "dark", "mcpServers": { "other": { "command": "x" } } }\n';
    writeFileSync(given, before);
    chmodSync(given, 0o640);
    writeFileSync(`${given}.bak`, 'an older one');
    expect((await install('cursor', '--write', '--file', given)).code).toBe(0);
    expect(JSON.parse(readFileSync(given, 'utf8'))).toMatchObject({
      theme: 'dark',
      mcpServers: { other: { command: 'x' }, svc: { command: process.execPath } },
    });
    expect(statSync(given).mode & 0o777).toBe(0o640);
    expect(readFileSync(`${given}.bak`, 'utf8')).toBe('an older one');
    expect(readFileSync(`${given}.1.bak`, 'utf8')).toBe(before);
    const again = await install('cursor', '--write', '--file', given);
    expect([again.code, again.stderr]).toEqual([0, expect.stringContaining('already')]);
    expect(readdirSync(folder).filter((name) => name.startsWith('kept.'))).toHaveLength(3);
  });

  test.each([
    ['claude-desktop', '{ broken', 1],
    ['codex', '[broken', 1],
    ['vscode', '{ // mine\n}', 1],
  ])('refuses the broken file of %s and leaves it', async (client, text, exit) => {
    const given = join(folder, `broken-${client}`);
    writeFileSync(given, text);
    const { code, stdout, stderr } = await install(client, '--write', '--file', given);
    expect([code, stdout]).toEqual([exit, '']);
    expect(stderr).toContain('was left as it is');
    expect(readFileSync(given, 'utf8')).toBe(text);
    expect(readdirSync(folder).filter((name) => name.startsWith(`broken-${client}`))).toHaveLength(1);
  });

  test.each([
    ['cursor', { type: 'http', httpUrl: 'https://a.example/mcp' }],
    ['vscode', { serverUrl: 'https://a.example/mcp', headers: { Authorization: 'Bearer x' } }],
    ['claude-code', { type: 'sse', url: 'https://a.example/mcp' }],
    ['claude-desktop', { type: 'streamable-http' }],
  ])('leaves an entry of %s that is a server at an address', async (client, entry) => {
    const given = join(folder, `address-${client}.json`);
    const text = JSON.stringify({ mcpServers: { svc: entry }, servers: { svc: entry } });
    writeFileSync(given, text);
    const { code, stderr } = await install(client, '--write', '--file', given);
    expect([code, stderr]).toEqual([1, expect.stringContaining('is a server at an address')]);
    expect(readFileSync(given, 'utf8')).toBe(text);
  });

  test('takes a file of Codex that begins with a mark of its encoding', async () => {
    const given = join(folder, 'marked.toml');
    writeFileSync(given, '\uFEFFmodel = "x"\r\n');
    expect((await install('codex', '--write', '--file', given)).code).toBe(0);
    expect(readFileSync(given, 'utf8')).toMatch(/^\uFEFFmodel = "x"\r\n\r\n\[mcp_servers\.svc\]\r\n/);
  });

  test('says what is wrong with a folder, a credential that is not there, and an address that ChatGPT cannot reach', async () => {
    const folderGiven = await install('cursor', '--write', '--file', folder);
    expect(folderGiven.stderr).toContain('it is a folder');
    const missing = join(folder, 'no-token');
    const entry = await install('cursor', '--identity-token-file', missing);
    expect([entry.code, entry.stderr]).toEqual([0, expect.stringContaining(`${missing} is not there`)]);
    expect((await install('chatgpt')).stderr).toContain('ChatGPT cannot reach');
  });

  test('takes the address of the endpoint for that of the service', async () => {
    const { stdout } = await runTool(['mcp', 'install', 'cursor', '--server', `${server.address}/mcp`]);
    expect(stdout).toContain(`"${server.address}"`);
  });

  test('prints the entry for each program, with the place of its file', async () => {
    const claude = await install('claude-code');
    expect(JSON.parse(claude.stdout)).toMatchObject({ mcpServers: { svc: { type: 'stdio' } } });
    const codex = await install('codex', '--name', 'work');
    expect(codex.stdout).toMatch(/^\[mcp_servers\.work\]\ncommand = ".+"\nargs = \[.+\]\n$/);
    expect(codex.stderr).toContain(join(folder, '.codex', 'config.toml'));
    const chatgpt = await install('chatgpt');
    expect(chatgpt.stdout).toContain(`${server.address}/mcp`);
    expect((await install('chatgpt', '--write')).code).toBe(2);
    expect((await install('codex', '--api-key', KEY)).code).toBe(2);
  });

  test('writes nothing where the folder cannot be made', async () => {
    const blocked = join(folder, 'blocked');
    mkdirSync(blocked);
    writeFileSync(join(blocked, 'file'), '');
    const { code } = await install('cursor', '--write', '--file', join(blocked, 'file', 'mcp.json'));
    expect(code).not.toBe(0);
  });
});
