import { afterAll, beforeAll, expect, test } from 'vitest';
import { isAtHand } from '../clients/install.ts';
import { type TriedClient, triedClients } from '../clients/list.ts';
import { expectAsOnPage } from '../clients/pages.ts';
import { startWorld, type World } from '../clients/world.ts';

/** The rest of the table of clients in docs/mcp.md: those that have to be installed. */

const others: TriedClient[] = [];
for (const client of triedClients) if (!(await isAtHand(client))) others.push(client);

let world: World;

beforeAll(async () => {
  world = await startWorld();
});

afterAll(() => world[Symbol.asyncDispose]());

test.for(others)('the table is true of $name, where it can be installed', async (client, { skip }) => {
  const refused = await expectAsOnPage(client, world);
  if (refused === null) return;
  // CI reaches npm. Few machines reach all packages of Python.
  if (client.from === 'npm') expect(process.env['CI'], refused).toBeUndefined();
  skip(refused);
});
