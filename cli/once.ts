import type { Command } from 'commander';

/** Refuses a repeated option, unless it collects values: one of the two is a mistake, and not certainly the first. */
export function refuseRepeated(command: Command): void {
  for (const option of command.options) {
    const takesOne = (option.required || option.optional) && !option.variadic;
    if (!takesOne || Array.isArray(option.defaultValue)) continue;
    let given = false;
    // The event fires for the command line only: environment variables have an event of their own.
    command.on(`option:${option.name()}`, () => {
      if (given) {
        command.error(`error: option '${option.flags}' is given more than once`, { code: 'svc.repeated' });
      }
      given = true;
    });
  }
}
