import { compose } from './compose/compose.ts';
import { machine } from './compose/machine.ts';
import type { ComposedServiceOptions, ComposeService } from './composed-service-types.ts';
import { faultsText } from './config/fault.ts';
import { loadConfiguration } from './config/load.ts';
import { inject } from './http/host-inject.ts';
import type { Chain } from './http/message.ts';
import { TurnRoom } from './kernel/turn-room.ts';
import type { World } from './kernel/world.ts';

/** Puts the service together in this process. Throws an error that lists the faults of the settings. */
export const composeService: ComposeService = async (options = {}) => {
  const argv = Object.entries(options.settings ?? {}).map(([key, value]) => `--${key}=${value}`);
  const { settings, faults } = loadConfiguration({
    host: 'embedded',
    env: {},
    argv,
    readFile: () => undefined,
  });
  if (settings === undefined) throw new Error(faultsText(faults));
  const service = compose(settings, { world: worldOf(options), writeLog: options.writeLog ?? (() => {}) });
  let chain: Chain;
  try {
    chain = await service.wholeChain();
  } catch (error) {
    await service.close();
    throw error;
  }
  return {
    fetch: (input, init) => answer(chain, new Request(input, init)),
    start: () => service.start(),
    close: () => service.close(),
  };
};

function worldOf({ clock = machine.clock, random, timers, http }: ComposedServiceOptions): World {
  return {
    clock,
    random: random ?? machine.random,
    timers: timers ?? machine.timers,
    http: http ?? machine.http,
    turns: clock === machine.clock ? machine.turns : new TurnRoom(clock),
  };
}

/** Statuses whose answers have no body, in the words of the Fetch standard. */
const bodiless: ReadonlySet<number> = new Set([204, 205, 304]);

async function answer(chain: Chain, request: Request): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  const sent = await inject(chain, {
    method: request.method,
    path: pathname + search,
    headers: [...request.headers],
    body: new Uint8Array(await request.arrayBuffer()),
    signal: request.signal,
  });
  const body = bodiless.has(sent.status) || request.method === 'HEAD' ? null : sent.bytes;
  return new Response(body, { status: sent.status, headers: sent.headers });
}
