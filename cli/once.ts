import type { Command } from 'commander';

/**
 * Refuses an option that is given twice, unless it collects what it is given: one of the two was a slip, and the last one
 * is not surely the one that was meant.
 */
export function refuseRepeated(command: Command): void {
  for (const option of command.options) {
    const takesOne = (option.required || option.optional) && !option.variadic;
    if (!takesOne || Array.isArray(option.defaultValue)) continue;
    let given = false;
    // Emitted for the command line alone: a variable of the environment has an event of its own.
    command.on(`option:${option.name()}`, () => {
      if (given) {
        command.error(`error: option '${option.flags}' is given more than once`, { code: 'svc.repeated' });
      }
      given = true;
    });
  }
}
