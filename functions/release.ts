import description from '../package.json' with { type: 'json' };
import type { Release } from './groups/server/dependencies.ts';

/** Whether the code runs in the project itself: the package of the server has no npm scripts. */
export const hasScripts = 'scripts' in description;

/** How a person starts the embedded server here. */
export const startCommand = hasScripts ? 'npm start --' : 'svc-server';

/** The one release version, which the contract carries as well. */
export const release: Release = { service: description.name, version: description.version };
