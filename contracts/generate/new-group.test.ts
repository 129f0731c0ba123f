import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createChain, type HandlerMap } from '../../functions/http/chain.ts';
import { inject } from '../../functions/http/host-inject.ts';
import type { Chain } from '../../functions/http/message.ts';
import { type GroupValidators } from '../../functions/http/options.ts';
import { createAuthenticator } from '../../functions/identity/authenticator.ts';
import { createAuthorizer } from '../../functions/identity/authorizer.ts';
import { developmentCaller } from '../../functions/identity/development.ts';
import { systemWorld } from '../../test/wire/fixture/echo.ts';
import type { OperationEntry } from '../operation.ts';
import { write } from './disk.ts';
import { fixtureSource } from './fixture.ts';
import { generate } from './outputs.ts';
import { readSource } from './source.ts';

interface Generated {
  readonly operations: Readonly<Record<string, OperationEntry>>;
  readonly loadValidators: Readonly<Record<string, () => Promise<GroupValidators>>>;
}

const folder = mkdtempSync(join(tmpdir(), 'new-group-'));
const handlers: HandlerMap = {
  listParcels: async ({ params, query }: { params: { depotId: string }; query: { limit: number } }) => ({
    status: 200,
    body: { kind: 'box', width: query.limit, depot: params.depotId },
  }),
  findParcel: async ({ body }: { body: { id: string } }) => ({
    status: 200,
    body: { kind: 'tube', length: body.id.length },
  }),
  ingestParcel: async () => ({ status: 204, body: null }),
  putBytes: async () => ({ status: 200, body: null }),
  // The answer does not match its model.
  peek: async () => ({ status: 200, body: { nothing: true } }),
};
let generated: Generated;
let chain: Chain;

beforeAll(async () => {
  write(folder, await generate(fixtureSource(readSource(process.cwd()).catalogSchema)));
  for (const file of ['operation.ts', 'validator.ts'])
    cpSync(`contracts/${file}`, join(folder, `contracts/${file}`));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  const load = (path: string): Promise<object> =>
    import(pathToFileURL(join(folder, 'contracts/generated', path)).href) as Promise<object>;
  generated = { ...(await load('operations.ts')), ...(await load('validators/load.ts')) } as Generated;
  chain = chainWith(handlers);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function chainWith(served: HandlerMap): Chain {
  return createChain({
    operations: generated.operations,
    handlers: served,
    validators: generated.loadValidators,
    world: systemWorld,
    authenticator: createAuthenticator({ apiKeyRequired: false, otherwise: developmentCaller }),
    authorizer: createAuthorizer(),
    log: () => {},
    rateLimit: null,
    validateResponses: true,
  });
}

describe('a group of a test contract is served by the same chain', () => {
  it('reads its parameters with their types and defaults', async () => {
    const answer = await inject(chain, {
      method: 'GET',
      path: '/depots/d1/parcels?after=2026-01-02T03:04:05Z',
    });
    expect(answer.status, answer.body).toBe(200);
    expect(answer.json()).toEqual({ kind: 'box', width: 5, depot: 'd1' });
    expect((await inject(chain, { method: 'GET', path: '/depots/d1/parcels' })).status).toBe(400);
  });

  it('validates bodies by its models, on its routes and their aliases', async () => {
    const find = (body: object) => inject(chain, { method: 'POST', path: '/depots/d1/find', body });
    expect((await find({ id: 'abc' })).json()).toEqual({ kind: 'tube', length: 3 });
    expect((await find({ id: 'ABC' })).json()).toMatchObject({ code: 'validation_failed' });
    const alias = await inject(chain, { method: 'GET', path: '/depots/d1/parcels/ab?limit=2' });
    expect(alias.json()).toEqual({ kind: 'tube', length: 2 });
  });

  it('validates answers by its models', async () => {
    expect((await inject(chain, { method: 'GET', path: '/peek' })).status).toBe(500);
  });

  it('must be served whole', () => {
    const { peek: _, ...without } = handlers;
    expect(() => chainWith(without)).toThrow('no handler serves peek');
  });
});
