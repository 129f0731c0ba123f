/** `npm run mcp-clients`: programs of others at the MCP endpoint, and the table of them in `docs/mcp.md` (`--help`). */
import { readFile, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { versionOf } from './install.ts';
import { type TriedClient, triedClients } from './list.ts';
import { differences, mergedRows, rowsOf, withRows } from './table.ts';
import { type TriedRow, tryClient } from './try.ts';
import { startWorld } from './world.ts';

const page = resolve(import.meta.dirname, '../../docs/mcp.md');
const names = triedClients.map(({ name }) => name);

const help = `Tries clients of the Model Context Protocol at the endpoint of this server, and compares the outcomes with the table in docs/mcp.md.

  npm run mcp-clients [-- --only NAME[,NAME ...]] [--write]

  --only NAME  these clients alone; the rows of the others stay: ${names.join(', ')}
  --write      writes the table
  --help       this text

Clients that the project does not depend on are installed into dist/mcp-clients/ in the versions that test/clients/list.ts pins, without
their scripts. One that cannot be installed keeps its row. Exits with 1 where the table differs.
`;

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    write: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

if (values.help) console.log(help);
else {
  const only = values.only?.split(',') ?? names;
  const unknown = only.filter((name) => !names.includes(name));
  if (unknown.length > 0) {
    console.error(`No client is called ${unknown.join(', ')}. --only takes ${names.join(', ')}.`);
    process.exitCode = 2;
  } else process.exitCode = await main(triedClients.filter(({ name }) => only.includes(name)));
}

async function main(clients: readonly TriedClient[]): Promise<number> {
  const tried = await tryAll(clients);
  const text = await readFile(page, 'utf8');
  const before = rowsOf(text);
  const known = await Promise.all(
    triedClients.map(async (client) => {
      const version = await versionOf(client);
      return client.modes.map(({ words }) => ({ client: client.title, version, mode: words }));
    }),
  );
  // A row says what a client did: one that is not installed here keeps what it did elsewhere.
  const done = tried.filter(({ untried }) => !untried);
  const missing = mergedRows(tried, before, known.flat());
  const rows = mergedRows(missing, done, known.flat());
  if (values.write) {
    await writeFile(page, withRows(text, rows));
    return 0;
  }
  const differing = differences(before, rows);
  if (differing.length === 0) return 0;
  console.error(
    ['The table in docs/mcp.md differs (npm run mcp-clients -- --write):', ...differing].join('\n'),
  );
  return 1;
}

async function tryAll(clients: readonly TriedClient[]): Promise<readonly TriedRow[]> {
  await using world = await startWorld();
  const rows: TriedRow[] = [];
  for (const client of clients) rows.push(...(await tryClient(client, world, say)));
  return rows;
}

function say({ client, version, mode, revision, outcome, ok }: TriedRow): void {
  console.log(
    `${ok ? 'ok  ' : 'FAIL'} ${client} ${version}, ${mode}${revision && ` (${revision})`}: ${outcome}`,
  );
}
