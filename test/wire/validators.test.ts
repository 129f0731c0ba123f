import { describe, expect, test } from 'vitest';
import { operations } from '../../contracts/generated/operations.ts';
import bundle from '../../contracts/generated/schemas/svc-public.schema.json' with { type: 'json' };
import { loadValidators } from '../../contracts/generated/validators/load.ts';
import { createChain, type HandlerMap } from '../../functions/http/chain.ts';
import { inject } from '../../functions/http/host-inject.ts';
import { createAuthenticator } from '../../functions/identity/authenticator.ts';
import { createAuthorizer } from '../../functions/identity/authorizer.ts';
import { developmentCaller } from '../../functions/identity/development.ts';
import { shortestCpuMs } from '../support/cpu-time.ts';
import { systemWorld } from './fixture/echo.ts';

/** The operations of the contract behind the chain. Their handlers fail, so that 400 can only come from a check. */
const passed = () => Promise.reject(new Error('every check was passed'));
const chain = createChain({
  operations,
  handlers: Object.fromEntries(Object.keys(operations).map((id) => [id, passed])) as HandlerMap,
  validators: loadValidators,
  world: systemWorld,
  authenticator: createAuthenticator({ apiKeyRequired: false, otherwise: developmentCaller }),
  authorizer: createAuthorizer(),
  log: () => {},
  rateLimit: null,
});

const withModel = Object.values(operations).filter((operation) => operation.requestSchema !== null);
/** Forms are refused by rules of their own, before their JSON part is read. */
const withBody = withModel.filter(({ requestMediaType }) => requestMediaType === 'application/json');
interface Definition {
  readonly properties?: object;
  readonly items?: { readonly $ref?: string };
}
const definitions = bundle.$defs as Readonly<Record<string, Definition>>;

/** The members of the model, and a body with such a member or with a list of one such item. */
function shapeOf({ requestSchema }: (typeof withModel)[number]) {
  const model = definitions[requestSchema ?? ''];
  // Some requests are lists: what is tried then is tried as an item.
  const item = definitions[model?.items?.$ref?.split('/').at(-1) ?? ''];
  const members = Object.keys((item ?? model)?.properties ?? {});
  return { item, members, inPlace: (body: unknown) => (item === undefined ? body : [body]) };
}

describe.each(withBody)('$id', (operation) => {
  const [route] = operation.routes;
  const path = `/${route?.segments.map((each) => ('literal' in each ? each.literal : 'x')).join('/')}`;
  const { item, members, inPlace } = shapeOf(operation);
  const sent = async (body: unknown) =>
    (await inject(chain, { method: route?.method ?? '', path, body })).status;
  const status = (body: unknown) => sent(inPlace(body));

  test('G12: a value that is no object is refused', async () => {
    for (const value of [[], 'a', 1, null, true]) {
      expect(await sent(JSON.stringify(inPlace(value))), JSON.stringify(value)).toBe(400);
    }
    for (const text of ['"a"', '1', 'null', 'true']) expect(await sent(text), text).toBe(400);
    expect(await sent(item === undefined ? '[]' : '{}')).toBe(400);
  });

  test('an unknown member is refused', async () => {
    expect(await status({ unknownMember: 1 })).toBe(400);
  });

  test('each member is refused in a wrong shape', async () => {
    expect(members.length).toBeGreaterThan(0);
    for (const member of members) expect(await status({ [member]: [[{}]] }), member).toBe(400);
  });
});

/** Reads each character. */
function walk(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

const walked = shortestCpuMs(5, () => walk('\u00e9'.repeat(1_000_000)));

/** Tries again where it was slow: the first calls of a function are not compiled yet. */
function isQuick(action: () => unknown): boolean {
  return [1, 2, 3].some(() => shortestCpuMs(1, action) < 20 * walked);
}

describe.each(withModel)('the model of $id', (operation) => {
  const { members, inPlace } = shapeOf(operation);

  test('H02: strings of 10^6 characters are judged in at most twenty times what it takes to walk through one', async () => {
    const load = loadValidators[operation.group];
    const validate = (await load()).requestValidators[operation.id];
    for (const character of ['a', '0', ' ', '-', '\u00e9', '2026-01-01T00:00:00']) {
      const long = character.repeat(1_000_000 / character.length);
      for (const member of members) {
        const body = inPlace({ [member]: long });
        expect(
          isQuick(() => validate?.(body)),
          `${member} of ${character} again and again`,
        ).toBe(true);
      }
    }
  });
});
