import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { beforeDeadline } from '../kernel/deadline.ts';
import { describeFailure } from '../kernel/log.ts';
import type { Timers } from '../kernel/world.ts';

/** A setting that turned out wrong when it was used, such as a module that cannot be loaded. */
export class CompositionFault extends Error {}

/** A module that waits for ever while it is loaded would keep the service from ever saying that it cannot start. */
const IMPORT_WITHIN_MS = 10_000;

/**
 * What the operator has named in a setting: `./module.mjs` beside the process, or the name of a package; `#Name` for an export
 * that is not the default. `read` takes the export or throws what is wrong with it. `what` begins the fault.
 */
export async function loadExport<T>(
  type: string,
  what: string,
  timers: Timers,
  read: (exported: unknown, name: string) => T,
): Promise<T> {
  const [place = '', name = 'default'] = type.split('#', 2);
  const path = /^\.{0,2}\//.test(place) ? pathToFileURL(resolve(place)).href : place;
  const fault = (reason: string, cause?: unknown) =>
    new CompositionFault(`${what} ${type} cannot be used: ${reason}`, { cause });
  const late = () => fault(`it was still loading after ${IMPORT_WITHIN_MS / 1_000} seconds`);
  let module: Readonly<Record<string, unknown>>;
  try {
    module = (await beforeDeadline(timers, IMPORT_WITHIN_MS, import(path), late)) as typeof module;
  } catch (error) {
    if (error instanceof CompositionFault) throw error;
    // What it says itself may quote what it was configured with.
    throw fault(`loading it failed with ${describeFailure(error).split('\n', 1).join('')}`, error);
  }
  try {
    return read(module[name], name);
  } catch (error) {
    throw fault(error instanceof Error ? error.message : 'unknown', error);
  }
}
