import description from '../package.json' with { type: 'json' };
import type { Release } from './groups/server/dependencies.ts';

/** The one release version, which the contract carries as well. */
export const release: Release = { service: description.name, version: description.version };
