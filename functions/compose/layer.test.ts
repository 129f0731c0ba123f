import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { loadConfiguration } from '../config/load.ts';
import { compose } from './compose.ts';

const { made, counting } = vi.hoisted(() => {
  const counts: Record<string, number> = {};
  /** The module, whose class counts how often it is made. */
  const countingOf = async (name: string, original: () => Promise<unknown>) => {
    const module = (await original()) as Record<string, new (...given: unknown[]) => object>;
    const Kind = module[name];
    if (Kind === undefined) throw new Error(`there is no ${name}`);
    counts[name] = 0;
    const Counted = class extends Kind {
      constructor(...given: unknown[]) {
        super(...given);
        counts[name] = (counts[name] ?? 0) + 1;
      }
    };
    return { ...module, [name]: Counted };
  };
  return { made: counts, counting: countingOf };
});
vi.mock('../collections/cursor-memory.ts', (original) => counting('CursorMemory', original));
vi.mock('../collections/incarnation-cache.ts', (original) => counting('IncarnationCache', original));
vi.mock('../collections/read-lanes.ts', (original) => counting('ReadLanes', original));
vi.mock('../collections/staged-payloads.ts', (original) => counting('StagedPayloads', original));
vi.mock('../embeddings/paid-flights.ts', (original) => counting('PaidFlights', original));
vi.mock('../kernel/page-token.ts', (original) => counting('PageTokens', original));
vi.mock('../objects/object-memory.ts', (original) => counting('ObjectMemory', original));

test('a process has one instance of each layer, and so of its bounds, for all groups that it serves', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-layers-'));
  try {
    const argv = [`--Server:DataDirectory=${folder}`, '--Mcp:Enabled=true'];
    const { settings } = loadConfiguration({ host: 'embedded', env: {}, argv, readFile: () => undefined });
    if (settings === undefined) throw new Error('the settings have faults');
    const service = compose(settings, { writeLog: () => undefined });
    try {
      await service.wholeChain();
      await service.start();
      await service.call(service.groups);
      expect(made).toEqual({
        ObjectMemory: 1,
        CursorMemory: 1,
        IncarnationCache: 1,
        PageTokens: 1,
        PaidFlights: 1,
        // Those for long reads, and those for evaluations.
        ReadLanes: 2,
        // Scripts that ingest documents have a bound of their own.
        StagedPayloads: 2,
      });
    } finally {
      await service.close();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
