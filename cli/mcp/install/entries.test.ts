import { describe, expect, test } from 'vitest';
import type { ClientName } from './client-names.ts';
import { mcpClients, type Places } from './clients.ts';
import { withJsonValue } from './json-entry.ts';
import { withTomlMembers } from './toml-entry.ts';
import { scanToml } from './toml-scan.ts';

const entry = {
  command: '/usr/bin/node',
  args: ['/svc/cli/main.ts', 'mcp', 'serve', '--server', 'http://a'],
};
const known = Object.keys(mcpClients) as Exclude<ClientName, 'chatgpt'>[];

describe('an entry in JSON', () => {
  const path = ['mcpServers', 'svc', 'command'];

  test.each([
    ['an empty file', '', '{\n  "mcpServers": {\n    "svc": {\n      "command": "x"\n    }\n  }\n}\n'],
    ['an empty object', '{}', '{\n  "mcpServers": {\n    "svc": {\n      "command": "x"\n    }\n  }\n}'],
    [
      'an empty section',
      '{\n\t"mcpServers": {}\n}\n',
      '{\n\t"mcpServers": {\n\t\t"svc": {\n\t\t\t"command": "x"\n\t\t}\n\t}\n}\n',
    ],
    [
      'other members',
      '{"big":12345678901234567890,"a":1.0,"mcpServers":{"other":{"env":{"K":"v"}}},"z":[{"}":"]"}]}',
      '{"big":12345678901234567890,"a":1.0,"mcpServers":{"other":{"env":{"K":"v"}},\n    "svc": {\n      "command": "x"\n    }},"z":[{"}":"]"}]}',
    ],
    [
      'an entry with other members',
      '{"mcpServers":{"svc":{"command":"old \\" }","env":{"K":"v"}}}}',
      '{"mcpServers":{"svc":{"command":"x","env":{"K":"v"}}}}',
    ],
    [
      'lines of Windows',
      '{\r\n  "a": 1\r\n}\r\n',
      '{\r\n  "a": 1,\r\n  "mcpServers": {\r\n    "svc": {\r\n      "command": "x"\r\n    }\r\n  }\r\n}\r\n',
    ],
    [
      'a mark of the byte order',
      '\uFEFF{"mcpServers":{"svc":{"command":1}}}',
      '\uFEFF{"mcpServers":{"svc":{"command":"x"}}}',
    ],
    [
      'an escaped name',
      '{"\\u006dcpServers":{"svc":{"command":null}}}',
      '{"\\u006dcpServers":{"svc":{"command":"x"}}}',
    ],
  ])('goes into %s, and every other character stays', (_, before, after) => {
    expect(withJsonValue(before, path, 'x')).toBe(after);
    expect(withJsonValue(after, path, 'x')).toBe(after);
  });

  test.each([
    ['{"a": 1', /not JSON/],
    ['{ // mine\n}', /comments/],
    ['[]', /no JSON object/],
    ['{"mcpServers":[]}', /mcpServers is no object/],
    ['{"mcpServers":{},"mcpServers":{}}', /twice/],
  ])('is refused for %s', (text, words) => {
    expect(() => withJsonValue(text, path, 'x')).toThrow(words);
  });
});

describe('an entry in TOML', () => {
  const path = ['mcp_servers', 'svc'];
  const members = { command: 'x', args: ['a "b"', 'c\\d'] };
  const table = '[mcp_servers.svc]\ncommand = "x"\nargs = ["a \\"b\\"", "c\\\\d"]\n';

  test.each([
    ['an empty file', '', table],
    ['a file without a last line feed', 'model = "m"', `model = "m"\n\n${table}`],
    [
      'other tables, texts and comments',
      '# mine\nmodel = "m" # [mcp_servers.svc]\nbig = """\n[mcp_servers.svc]\n"""\nat = 1979-05-27 07:32:00\n[a."b.c"]\nlist = [\n  1, # one\n  { x = \'y\' },\n]\n[[many]]\nn = 1\n[[many]]\nn = 2\n',
      `# mine\nmodel = "m" # [mcp_servers.svc]\nbig = """\n[mcp_servers.svc]\n"""\nat = 1979-05-27 07:32:00\n[a."b.c"]\nlist = [\n  1, # one\n  { x = 'y' },\n]\n[[many]]\nn = 1\n[[many]]\nn = 2\n\n${table}`,
    ],
    [
      'its table, whose other members stay',
      '[mcp_servers.svc] # ours\nenabled = false\ncommand = "old"\n\n[mcp_servers.svc.env]\nK = "v"\n',
      '[mcp_servers.svc] # ours\nargs = ["a \\"b\\"", "c\\\\d"]\nenabled = false\ncommand = "x"\n\n[mcp_servers.svc.env]\nK = "v"\n',
    ],
    [
      'a header at the end',
      '[mcp_servers.svc]',
      '[mcp_servers.svc]\ncommand = "x"\n\nargs = ["a \\"b\\"", "c\\\\d"]\n',
    ],
  ])('goes into %s', (_, before, after) => {
    expect(withTomlMembers(before, path, members)).toBe(after);
    expect(withTomlMembers(after, path, members)).toBe(after);
    expect(() => scanToml(after)).not.toThrow();
  });

  test.each([
    ['a = ', /line 1/],
    ['a = 1\nb = "open\n', /line 2/],
    ['[a\nb = 1', /line 1/],
    ['a = 1 b = 2', /goes on/],
    ['a = [1, 2', /broken/],
    ['a = { b = 1', /missing/],
    ['a = yes', /broken/],
    ['[a]\n[a]', /twice/],
    ['a = 1\na = 2', /twice/],
    ['just words', /missing/],
    [`a = ${'['.repeat(200)}`, /too deep/],
    ['mcp_servers = { svc = { command = "x" } }', /another form/],
    ['mcp_servers.svc.command = "x"', /another form/],
    ['[mcp_servers]\nsvc = { command = "x" }', /another form/],
    ['[[mcp_servers.svc]]', /another form/],
  ])('is refused for %j', (text, words) => {
    expect(() => withTomlMembers(text, path, members)).toThrow(words);
  });

  test('stands beside servers that are written in another form', () => {
    expect(withTomlMembers('[mcp_servers]\nother = { command = "y" }\n', path, members)).toContain(table);
  });
});

describe('the entry of a client', () => {
  test.each(known)(
    '%s: the printed text is what a new file holds, and a second time changes nothing',
    (name) => {
      const client = mcpClients[name];
      const written = client.merged('', 'svc', entry);
      expect(written.trimEnd()).toBe(client.text('svc', entry));
      expect(client.merged(written, 'svc', entry)).toBe(written);
      expect(client.merged(written, 'other', entry)).toContain('svc');
    },
  );

  test.each(known)('%s: an entry that is a server at an address is not overwritten', (name) => {
    const text =
      name === 'codex'
        ? '[mcp_servers.svc]\nurl = "https://a"\n'
        : `{"${name === 'vscode' ? 'servers' : 'mcpServers'}":{"svc":{"url":"https://a"}}}`;
    expect(() => mcpClients[name].merged(text, 'svc', entry)).toThrow(/--name/);
  });

  const places = (platform: NodeJS.Platform, env: Places['env'] = {}): Places => ({
    platform,
    env,
    home: platform === 'win32' ? 'C:\\Users\\me' : '/home/me',
    folder: '/project',
  });

  test.each([
    [
      'claude-desktop',
      places('darwin'),
      '/home/me/Library/Application Support/Claude/claude_desktop_config.json',
    ],
    [
      'claude-desktop',
      places('win32', { APPDATA: 'C:\\Roaming' }),
      'C:\\Roaming\\Claude\\claude_desktop_config.json',
    ],
    [
      'claude-desktop',
      places('win32'),
      'C:\\Users\\me\\AppData\\Roaming\\Claude\\claude_desktop_config.json',
    ],
    ['claude-desktop', places('linux'), '/home/me/.config/Claude/claude_desktop_config.json'],
    ['vscode', places('linux', { XDG_CONFIG_HOME: '/settings' }), '/settings/Code/User/mcp.json'],
    ['claude-code', places('linux'), '/project/.mcp.json'],
    ['cursor', places('linux'), '/home/me/.cursor/mcp.json'],
    ['codex', places('linux'), '/home/me/.codex/config.toml'],
    ['codex', places('linux', { CODEX_HOME: '/codex' }), '/codex/config.toml'],
  ] as const)('%s has its file at the usual place', (name, where, file) => {
    expect(mcpClients[name].file(where)).toBe(file);
  });
});
