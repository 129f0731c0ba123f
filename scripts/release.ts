/**
 * Freezes the promises of this version in `contracts/releases/<version>/`: the OpenAPI document, the operation catalog, the
 * error codes, the limits, the wire vectors and the fixtures of the SDKs. Every later change is held against them
 * (`test/release.test.ts`). The server of the release goes to `contracts/servers/`, so that later versions are tested beside it.
 *
 *     npm run release [-- --date 2026-12-24]
 *
 * Dates the heading of the unreleased version in the change log, today by default. A frozen release never changes.
 */
import { parseArgs } from 'node:util';
import { freezeRelease } from './release-freeze.ts';
import { freezeServer } from './release-server.ts';
import { frozenVersions } from './release-state.ts';

const { values } = parseArgs({ options: { date: { type: 'string' } } });
const before = frozenVersions('.').length;
const { faults, report } = freezeRelease('.', values.date ?? new Date().toISOString().slice(0, 10));
for (const fault of faults) console.error(fault);
if (faults.length === 0) console.log(report);
// A release that holds already keeps the server that it was released with.
if (frozenVersions('.').length > before) await freezeServer('.', '.');
process.exitCode = faults.length === 0 ? 0 : 1;
