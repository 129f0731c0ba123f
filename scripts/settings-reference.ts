import type { Generated } from '../contracts/generate/disk.ts';
import { settingsPage, settingsSchema } from '../functions/config/reference.ts';

/** The reference of all settings, and the schema of settings files. */
export function generated(): Generated {
  return {
    files: new Map([
      ['docs/reference/settings.md', settingsPage()],
      ['docs/reference/svcsettings.schema.json', `${JSON.stringify(settingsSchema(), null, 2)}\n`],
    ]),
  };
}
