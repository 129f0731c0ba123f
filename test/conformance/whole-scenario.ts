import { hash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Collection, RecordStore } from '../../functions/store/port.ts';
import { allCollections, ScenarioProcess } from './whole-stage.ts';
import { STEPS } from './whole-steps.ts';

/** SHA-256 of all answers below, the same on every database. */
const ANSWERS = 'f652ec019627a40f2c262fd2aca85cdf01c04668d4347ed00dabf5abb37cc565';

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
      expect(hash('sha256', said.join('\n'))).toBe(ANSWERS);
    },
  );
}
