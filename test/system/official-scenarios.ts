import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { toolPath } from '../../scripts/tools.ts';
import { serveAcceptance } from '../mcp/conformance-server.ts';

/** Runs the official conformance scenarios of a revision against the acceptance catalog. */

const runner = toolPath('@modelcontextprotocol/conformance/dist/index.js');

export interface OfficialOutcome {
  readonly exitCode: number | null;
  readonly output: string;
  /** Passed and failed checks of a scenario; empty for one that did not run. */
  readonly countsOf: (scenario: string) => readonly number[];
}

export async function runOfficialScenarios(revision: string): Promise<OfficialOutcome> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-conformance-'));
  const server = await serveAcceptance();
  try {
    const args = [runner, 'server', '--url', server.url, '--requirements', revision];
    const child = spawn(process.execPath, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
    const [written, errors] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'close'),
    ]);
    const output = `${written}${errors}`;
    return {
      exitCode: child.exitCode,
      output,
      countsOf(scenario) {
        const line = new RegExp(`^\\S+ ${scenario}: (\\d+) passed, (\\d+) failed`, 'm').exec(output);
        return (line ?? []).slice(1).map(Number);
      },
    };
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}
