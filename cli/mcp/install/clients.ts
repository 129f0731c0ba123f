import { posix, win32 } from 'node:path';
import type { ClientName } from './client-names.ts';
import { jsonObjectAt, withJsonValue } from './json-entry.ts';
import { tomlNames, withTomlMembers } from './toml-entry.ts';

/** The desktop programs that `svc mcp install` knows, and the form and the place of their entries. */

/** The command that a program starts. */
export interface ServeCommand {
  readonly command: string;
  readonly args: readonly string[];
}

/** The parts of this machine that decide where a program has its file. @testonly */
export interface Places {
  readonly platform: NodeJS.Platform;
  readonly home: string;
  readonly folder: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface McpClient {
  readonly title: string;
  /** The entry alone, as text for a person. */
  readonly text: (name: string, entry: ServeCommand) => string;
  readonly file: (places: Places) => string;
  /** The text of the file with the entry in it. Throws an Error that says why it cannot be. */
  readonly merged: (text: string, name: string, entry: ServeCommand) => string;
  /** The step after the file is written. */
  readonly next: string;
}

/** ChatGPT starts no command: it calls addresses. */
export const mcpClients: Readonly<Record<Exclude<ClientName, 'chatgpt'>, McpClient>> = {
  'claude-desktop': {
    title: 'Claude Desktop',
    ...jsonForm('mcpServers', false),
    file: (places) => joined(places, ...settingsFolder(places), 'Claude', 'claude_desktop_config.json'),
    next: 'Quit Claude Desktop and start it again.',
  },
  'claude-code': {
    title: 'Claude Code',
    ...jsonForm('mcpServers', true),
    file: (places) => joined(places, places.folder, '.mcp.json'),
    next: 'Start Claude Code in this folder and allow the server.',
  },
  vscode: {
    title: 'VS Code',
    ...jsonForm('servers', true),
    file: (places) => joined(places, ...settingsFolder(places), 'Code', 'User', 'mcp.json'),
    next: 'Start the server with the command "MCP: List Servers".',
  },
  cursor: {
    title: 'Cursor',
    ...jsonForm('mcpServers', false),
    file: (places) => joined(places, places.home, '.cursor', 'mcp.json'),
    next: 'Turn the server on in the settings of Cursor, under MCP.',
  },
  codex: {
    title: 'Codex',
    text: (name, entry) => withTomlMembers('', ['mcp_servers', name], membersOf(entry)).trimEnd(),
    file: (places) =>
      joined(places, places.env['CODEX_HOME'] || joined(places, places.home, '.codex'), 'config.toml'),
    merged(text, name, entry) {
      const path = ['mcp_servers', name];
      if (tomlNames(text, path).some(namesAddress)) throw new Error(isAddress(name));
      return withTomlMembers(text, path, membersOf(entry));
    },
    next: 'Start Codex again.',
  },
};

function jsonForm(section: string, typed: boolean): Pick<McpClient, 'text' | 'merged'> {
  const whole = (entry: ServeCommand) => ({ ...(typed ? { type: 'stdio' } : {}), ...membersOf(entry) });
  return {
    text: (name, entry) => JSON.stringify({ [section]: { [name]: whole(entry) } }, null, 2),
    // Member by member: an entry that is there keeps its other members, such as `env`.
    merged(text, name, entry) {
      const { type = 'stdio', ...others } = jsonObjectAt(text, [section, name]);
      if (type !== 'stdio' || Object.keys(others).some(namesAddress)) throw new Error(isAddress(name));
      return Object.entries(whole(entry)).reduce(
        (rest, [member, value]) => withJsonValue(rest, [section, name, member], value),
        text,
      );
    },
  };
}

/** `url`, and what programs call it otherwise: `httpUrl`, `serverUrl`. */
function namesAddress(member: string): boolean {
  return /url$/i.test(member);
}

function isAddress(name: string): string {
  return `its entry ${name} is a server at an address, and --name takes another name`;
}

function membersOf({ command, args }: ServeCommand): {
  readonly command: string;
  readonly args: readonly string[];
} {
  return { command, args };
}

/** Where programs keep the settings of a user. */
function settingsFolder({ platform, home, env }: Places): readonly string[] {
  if (platform === 'darwin') return [home, 'Library', 'Application Support'];
  if (platform === 'win32') return env['APPDATA'] ? [env['APPDATA']] : [home, 'AppData', 'Roaming'];
  return env['XDG_CONFIG_HOME'] ? [env['XDG_CONFIG_HOME']] : [home, '.config'];
}

function joined({ platform }: Places, ...parts: readonly string[]): string {
  return (platform === 'win32' ? win32 : posix).join(...parts);
}

/** How a person connects ChatGPT. */
export function chatgptText(address: string): string {
  return `ChatGPT starts no command on this machine. It calls an address over HTTPS that it can reach:
  1. Settings, Apps, Advanced settings: turn on Developer mode. Older versions say Connectors for Apps.
  2. Create an app with the MCP server URL ${address}/mcp
  3. Authentication: OAuth, with the issuer that Mcp:ProtectedResource:AuthorizationServers of the service names.`;
}
