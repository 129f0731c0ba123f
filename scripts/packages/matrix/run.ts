import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { projectPackage } from '../../build/project.ts';
import type { Archives, Cell } from './cell.ts';
import { Place } from './place.ts';

export interface CellOutcome {
  readonly id: string;
  readonly seconds: number;
  readonly line: string;
  /** `null` where the cell holds. */
  readonly fault: string | null;
}

/** @testonly */
export interface ServedPackages extends AsyncDisposable {
  readonly archives: Archives;
  readonly url: string;
}

/**
 * Starts the packed server, which the programs of the cells call.
 * @testonly
 */
export async function servedPackages(archives: Archives): Promise<ServedPackages> {
  const place = await Place.with([archives.server]);
  const handler = '--ExecutionRuntime:ExternalHandlers:0:HandlerId=matrix.double';
  const served = await place.serve(process.execPath, ['--Server:Port=0', handler]);
  return {
    archives,
    url: served.url,
    async [Symbol.asyncDispose]() {
      await served.stop();
      await place[Symbol.asyncDispose]();
    },
  };
}

/** Runs the cells one after another against one server. */
export async function runCells(
  cells: readonly Cell[],
  archives: Archives,
  onEnd: (outcome: CellOutcome) => void,
): Promise<readonly CellOutcome[]> {
  await using served = await servedPackages(archives);
  const outcomes: CellOutcome[] = [];
  for (const cell of cells) {
    const outcome = await outcomeOf(cell, archives, served.url);
    onEnd(outcome);
    outcomes.push(outcome);
  }
  return outcomes;
}

async function outcomeOf(cell: Cell, archives: Archives, server: string): Promise<CellOutcome> {
  const began = performance.now();
  const done = await cell.run(archives, server).then(
    (line) => ({ line, fault: null }),
    (error: unknown) => ({ line: 'FAILED', fault: error instanceof Error ? error.message : String(error) }),
  );
  return { id: cell.id, seconds: (performance.now() - began) / 1000, ...done };
}

/** The packed files of this version in a folder. */
export async function archivesIn(folder: string): Promise<Archives> {
  const names = await readdir(folder).catch(() => []);
  const { version } = projectPackage();
  const find = (beginning: string, ending: string) => {
    const name = names.find((each) => each.startsWith(`${beginning}-${version}`) && each.endsWith(ending));
    return name === undefined ? '' : join(folder, name);
  };
  return {
    server: find('svc-runtime-server', '.tgz'),
    client: find('svc-runtime-client', '.tgz'),
    dispatcher: find('svc-runtime-dispatcher', '.tgz'),
    starter: find('create-svc-app', '.tgz'),
    python: find('svc_runtime_client', '.whl'),
  };
}
