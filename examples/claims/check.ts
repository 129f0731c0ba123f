import { claimNumber } from './claims.ts';
import type { ImportSummary } from './import.ts';
import { progress } from './progress.ts';
import { type Entry, readEntries } from './projection.ts';
import type { Service } from './service.ts';

const READERS = 16;

/**
 * Compares the projection with the service, event by event and document by document; throws at the first difference.
 */
export async function verify(
  service: Service,
  file: string,
  claims: number,
  summary: ImportSummary,
): Promise<void> {
  const { entries } = readEntries(file);
  expectEqual('projected events', entries.length, summary.events);
  expectEqual('distinct events', new Set(entries.map((entry) => entry.eventId)).size, summary.events);
  expectEqual('delivered events', await service.count('delivered'), summary.events);
  for (const state of ['ready', 'leased', 'scheduled', 'dead-letter']) {
    expectEqual(`${state} events`, await service.count(state), 0);
  }
  const latest = latestByClaim(entries);
  const show = progress('checking documents', claims);
  let next = 0;
  const reader = async () => {
    while (next < claims) {
      const id = claimNumber(next++);
      await compare(service, id, latest.get(id));
      show(next);
    }
  };
  await Promise.all(Array.from({ length: READERS }, reader));
}

/** Events of one claim may arrive in any order: the revision shows which one is the latest. */
function latestByClaim(entries: readonly Entry[]): Map<string, Entry> {
  const latest = new Map<string, Entry>();
  for (const entry of entries) {
    const known = latest.get(entry.claimNumber);
    if (known === undefined || known.revision < entry.revision) latest.set(entry.claimNumber, entry);
  }
  return latest;
}

async function compare(service: Service, id: string, projected: Entry | undefined): Promise<void> {
  const document = await service.read(id);
  expectEqual(`revision of ${id}`, projected?.revision, document.revision);
  expectEqual(`status of ${id}`, projected?.status, document.deleted ? 'withdrawn' : document.data?.status);
  expectEqual(
    `reserve of ${id}`,
    projected?.reserveCents,
    document.deleted ? 0 : document.data?.reserveCents,
  );
}

function expectEqual(name: string, actual: unknown, expected: unknown): void {
  if (actual !== expected)
    throw new Error(`${name}: ${String(actual)}, but ${String(expected)} was expected`);
}
