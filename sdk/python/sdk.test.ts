import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PythonNotFound, pytest, toolsPython } from './tools.ts';

const folder = mkdtempSync(join(tmpdir(), 'sdk-python-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Outcome {
  readonly outcome: 'passed' | 'failed' | 'skipped';
  readonly why: string;
}

type Line =
  | { readonly collected: readonly string[] }
  | ({ readonly test: string; readonly when: string } & Outcome);

/** The lines that `tests/report.py` wrote. */
function linesOf(path: string): readonly Line[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Line);
}

/** Python with the tools, or the reason for its absence. CI needs it. */
const python = await toolsPython().catch((error: unknown) => {
  if (!(error instanceof PythonNotFound) || process.env['CI'] === 'true') throw error;
  return error;
});

/** The names of all pytest tests. */
async function collected(interpreter: string): Promise<readonly string[]> {
  const report = join(folder, 'collected.jsonl');
  const { code, output } = await pytest(interpreter, ['--collect-only', '--quiet'], report);
  if (code !== 0) throw new Error(output);
  return linesOf(report).flatMap((line) => ('collected' in line ? line.collected : []));
}

/** The result of each test. A test whose clean-up also failed counts as one failure. */
async function outcomes(interpreter: string): Promise<ReadonlyMap<string, Outcome>> {
  const report = join(folder, 'run.jsonl');
  const { output } = await pytest(interpreter, ['--quiet', '--tb=short'], report);
  const found = new Map<string, Outcome>();
  for (const line of linesOf(report)) {
    if ('collected' in line || found.get(line.test)?.outcome === 'failed') continue;
    found.set(line.test, line);
  }
  if (found.size === 0) throw new Error(output);
  return found;
}

if (python instanceof PythonNotFound) {
  test.skip(`the SDK for Python (skipped: ${python.message})`, () => {});
} else {
  const names = await collected(python);
  describe('the SDK for Python', () => {
    let found: ReadonlyMap<string, Outcome>;
    beforeAll(async () => {
      found = await outcomes(python);
    }, 900_000);

    for (const name of names) {
      test(name, ({ skip }) => {
        const { outcome, why } = found.get(name) ?? { outcome: 'failed', why: 'it was not run' };
        if (outcome === 'skipped') skip(why);
        if (outcome === 'failed') expect.fail(why);
      });
    }

    test('every test that was run is one of these', () => {
      expect([...found.keys()].filter((name) => !names.includes(name))).toEqual([]);
      expect(names.length).toBeGreaterThan(900);
    });
  });
}
