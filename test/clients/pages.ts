import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { expect } from 'vitest';
import type { TriedClient } from './list.ts';
import { type Row, rowsOf } from './table.ts';
import { type TriedRow, tryClient } from './try.ts';
import type { World } from './world.ts';

export async function rowsOfPage(): Promise<readonly Row[]> {
  return rowsOf(await readFile(resolve(import.meta.dirname, '../../docs/mcp.md'), 'utf8'));
}

/** Tries the client, and expects what the page says of it. Answers why it could not be tried. */
export async function expectAsOnPage(client: TriedClient, world: World): Promise<string | null> {
  const rows = await tryClient(client, world);
  const untried = rows.find((row) => row.untried);
  if (untried !== undefined) return untried.outcome;
  const page = await rowsOfPage();
  expect(page.filter((row) => row.client === client.title && row.version === rows[0]?.version)).toEqual(
    rows.map(withoutMarks),
  );
  return null;
}

function withoutMarks({ client, version, mode, revision, outcome }: TriedRow): Row {
  return { client, version, mode, revision, outcome };
}
