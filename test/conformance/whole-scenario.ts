import { hash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Collection, RecordStore } from '../../functions/store/port.ts';
import { allCollections, ScenarioProcess } from './whole-stage.ts';
import { STEPS } from './whole-steps.ts';

/** SHA-256 of all answers below, the same on every database. */
const ANSWERS = '168f1373037819d0decd93509238a5d18efde5898bf2d029da78126333cf65e1';

/** Takes all steps over a database of its own. */
export function describeWholeScenario(
  title: string,
  open: (collections: readonly Collection[], folder: string) => Promise<RecordStore>,
  missing?: string,
): void {
  const reason = missing === undefined ? '' : ` (skipped: ${missing})`;
  test.skipIf(missing !== undefined)(
    `the whole scenario has the same answers, byte by byte: ${title}${reason}`,
    async () => {
      const folder = await mkdtemp(join(tmpdir(), 'svc-whole-'));
      const store = await open(await allCollections(), folder);
      const process = new ScenarioProcess({ folder, store });
      await process.start();
      const said: string[] = [];
      for (const [index, step] of STEPS.entries())
        for (const { status, body } of await process.take(step, index))
          said.push(`${step.name}: ${status} ${body}`);
      await process.close();
      await rm(folder, { recursive: true });
      expect(hash('sha256', numbered(said.join('\n')))).toBe(ANSWERS);
    },
  );
}

/** Ids of runs and traces by the order in which they appear: what goes on beside a slow machine's answers may draw one between. */
function numbered(text: string): string {
  const numbers = new Map<string, number>();
  return text.replaceAll(/\b(?:\d{18,20}|adm_[0-9a-f]{64}|trace-[0-9a-f]{32})\b/g, (id) => {
    const number = numbers.get(id) ?? numbers.size + 1;
    numbers.set(id, number);
    return `<id ${number}>`;
  });
}
