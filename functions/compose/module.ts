import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { beforeDeadline } from '../kernel/deadline.ts';
import { describeFailure } from '../kernel/log.ts';
import type { Timers } from '../kernel/world.ts';

/** A setting that fails when the service uses it, such as a module that cannot be loaded. */
export class CompositionFault extends Error {}

/** A module that never finishes loading must not keep the service from reporting that it cannot start. */
const IMPORT_WITHIN_MS = 10_000;

/**
 * Loads the export that a setting names: `./module.mjs` in the working directory, or a package; `#Name` selects an export
 * other than the default. `read` checks the export and throws its faults. `subject` begins the message.
 */
export async function loadExport<T>(
  type: string,
  subject: string,
  timers: Timers,
  read: (exported: unknown, name: string) => T,
): Promise<T> {
  const [place = '', name = 'default'] = type.split('#', 2);
  const path = /^\.{0,2}\//.test(place) ? pathToFileURL(resolve(place)).href : place;
  const fault = (reason: string, cause?: unknown) =>
    new CompositionFault(`${subject} ${type} cannot be used: ${reason}`, { cause });
  const late = () => fault(`it was still loading after ${IMPORT_WITHIN_MS / 1_000} seconds`);
  let module: Readonly<Record<string, unknown>>;
  try {
    module = (await beforeDeadline(timers, IMPORT_WITHIN_MS, import(path), late)) as typeof module;
  } catch (error) {
    if (error instanceof CompositionFault) throw error;
    // Omit the module's own message: it may quote configured secrets.
    throw fault(`loading it failed with ${describeFailure(error).split('\n', 1).join('')}`, error);
  }
  try {
    return read(module[name], name);
  } catch (error) {
    throw fault(error instanceof Error ? error.message : 'unknown', error);
  }
}
