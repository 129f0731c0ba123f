import { compose } from './compose/compose.ts';
import { isFunctionName, roleOf } from './compose/functions.ts';
import { machine } from './compose/machine.ts';
import { CompositionFault } from './compose/module.ts';
import { faultsText } from './config/fault.ts';
import { groupOff, offLine } from './config/groups-off.ts';
import { functionTarget, readConfiguration } from './config/machine.ts';
import { unservedRuns } from './config/rules.ts';
import { registerFunction } from './http/host-framework.ts';
import type { Chain } from './http/message.ts';
import { logWarnings } from './kernel/runtime-warnings.ts';
import { takeRejection } from './runs/handler-scope.ts';

/**
 * The entry of the deployed functions: one function per route group, and a few others, each in its own processes. A
 * process composes and registers only the function that its target names.
 */
async function main(): Promise<string | undefined> {
  const { settings, faults } = readConfiguration('functions');
  if (settings === undefined) return faultsText(faults);
  const target = functionTarget();
  const service = compose(settings, {
    ...(isFunctionName(target) ? { role: roleOf(target) } : {}),
    writeLog: (line) => process.stdout.write(`${line}\n`),
  });
  logWarnings(process, service.log);
  const { groups, functions } = service;
  const serve =
    isFunctionName(target) && functions.includes(target)
      ? () => service.functionChain(target)
      : target !== undefined && groups.includes(target)
        ? () => service.chain([target])
        : null;
  if (serve === null || target === undefined) {
    const known = [...groups, ...functions].join(' or ');
    const off = groupOff(settings, target);
    const why = off === undefined ? '' : ` (${offLine(off)})`;
    return `There is no function ${target ?? '(none named)'}${why}: --target or FUNCTION_TARGET must be ${known}.`;
  }
  let chain: Chain;
  try {
    chain = await serve();
  } catch (error) {
    if (error instanceof CompositionFault) return error.message;
    throw error;
  }
  const unserved = unservedRuns(settings);
  if (unserved !== null)
    service.log({ severity: 'WARNING', message: `${unserved.reason} ${unserved.remedy}` });
  registerFunction(target, chain, {
    world: machine,
    log: service.log,
    drain: () => service.drain(),
    close: () => service.close(),
    drainMs: settings.server.drainSeconds * 1000,
    takeRejection,
  });
  return undefined;
}

const refusal = await main();
if (refusal !== undefined) {
  process.stderr.write(`${refusal}\n`);
  // Without this exit the framework would keep running without a function.
  process.exit(1);
}
