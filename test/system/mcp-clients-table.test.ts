import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { toolsMissing } from '../../scripts/tools.ts';
import { isAtHand, versionOf } from '../clients/install.ts';
import { type TriedClient, triedClients } from '../clients/list.ts';
import { expectAsOnPage, rowsOfPage } from '../clients/pages.ts';
import { tryClient } from '../clients/try.ts';
import { startWorld, type World } from '../clients/world.ts';

/** The table of clients in docs/mcp.md, for the clients that the project has; the nightly tests install the others. */

const atHand: TriedClient[] = [];
for (const client of triedClients) if (await isAtHand(client)) atHand.push(client);

const reason = toolsMissing === undefined ? '' : ` ${toolsMissing}`;

test.skipIf(reason !== '')(
  `the table names each client that is tried, with its version and modes${reason}`,
  async () => {
    const places = triedClients.map(async (client) => {
      const version = await versionOf(client);
      return client.modes.map(({ words }) => ({ client: client.title, version, mode: words }));
    });
    const rows = (await rowsOfPage()).map(({ client, version, mode }) => ({ client, version, mode }));
    expect(rows).toEqual((await Promise.all(places)).flat());
    expect(atHand.map(({ name }) => name)).toEqual(expect.arrayContaining(['client', 'svc', 'inspector']));
  },
);

describe('the table is true', () => {
  let world: World;

  beforeAll(async () => {
    world = await startWorld();
  });

  afterAll(() => world[Symbol.asyncDispose]());

  test.each(atHand)('of $title', async (client) => {
    expect(await expectAsOnPage(client, world)).toBeNull();
  });
});

test('a service without older revisions is seen in the outcomes', async () => {
  await using world = await startWorld('Mcp:Revisions:0=2026-07-28');
  const rows = await Promise.all(atHand.slice(0, 1).map((client) => tryClient(client, world)));
  expect(rows.flat().map(({ ok, outcome }) => [ok, outcome])).toEqual([
    [false, expect.stringMatching(/^does not connect: .*2026-07-28/)],
    [true, expect.stringContaining('lists 17 tools')],
    [true, expect.stringContaining('lists 17 tools')],
  ]);
});
