import type { Group } from '../contracts/generated/operations.ts';
import { compose, machine } from './compose.ts';
import { CompositionFault } from './compose-module.ts';
import { faultsText } from './config/fault.ts';
import { functionTarget, readConfiguration } from './config/machine.ts';
import { registerFunction } from './http/host-framework.ts';
import type { Chain } from './http/message.ts';

/**
 * The entry of the deployed functions: one a route group, each in processes of its own. A process serves the one that it
 * was told to, so only that one is composed and registered.
 */
async function main(): Promise<string | undefined> {
  const { settings, faults } = readConfiguration('functions');
  if (settings === undefined) return faultsText(faults);
  const service = compose(settings, { writeLog: (line) => process.stdout.write(`${line}\n`) });
  const target = functionTarget();
  if (!isGroup(target, service.groups)) {
    return `There is no function ${target ?? '(none named)'}: --target or FUNCTION_TARGET must be ${service.groups.join(' or ')}.`;
  }
  let chain: Chain;
  try {
    chain = await service.chain([target]);
  } catch (error) {
    if (error instanceof CompositionFault) return error.message;
    throw error;
  }
  registerFunction(target, chain, {
    world: machine,
    log: service.log,
    close: () => service.close(),
    drainMs: settings.server.drainSeconds * 1000,
  });
  return undefined;
}

function isGroup(target: string | undefined, groups: readonly Group[]): target is Group {
  return groups.some((group) => group === target);
}

const refusal = await main();
if (refusal !== undefined) {
  process.stderr.write(`${refusal}\n`);
  // The framework would go on and serve nothing.
  process.exit(1);
}
