import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { repeatLine, seedOf, share } from '../support/effort.ts';
import { KillLoop, type KillLoopReport } from './kill-loop.ts';
import { FLAWS, plantedFlaw } from './kill-loop-flaws.ts';

const inCi = process.env['CI'] !== undefined;
/** Kills in all. CI makes as many as the rare calls need to happen; a nightly run makes more. */
const KILLS = Number(process.env['KILL_LOOP_KILLS'] ?? share(inCi ? 80 : 24, 240));
/** The seed repeats the requests, but not the order in which they arrive. */
const SEED = seedOf('kill loop');
/** With fewer kills a rare event may be missing by chance. */
const KILLS_FOR_ALL = 80;
/** A campaign continues until it has reached all rare events. An event that one kill in 40 reaches is missed by 600 kills once in 10^6 runs. */
const KILLS_MAX = 600;
/** Ends a test that hangs: counts of kills decide, and no time. */
const PATIENCE_MS = 3_600_000;
/** A search for a flaw ends with its first find. A flaw that every second campaign finds is missed by 20 campaigns once in 10^6 runs. */
const FLAW_KILLS = 160;
const FLAW_CAMPAIGNS = 20;

/** The bugs that are planted outside CI: of commits, of restores and of leases. */
const USUAL_FLAWS = new Set(['early-answers', 'early-flip', 'unchecked-tokens']);

const ALWAYS = ['commit', 'lease', 'old token', 'replay', 'generation'];
const RARE = [
  'repeat, reuse, read, query, revisions, waiting lease, outbox query, restore, refused restore',
  'commit on a restored tenant, apply, contradiction, list, export under load, abandoned space',
].flatMap((names) => names.split(', '));
const CUT = ['commit', 'lease', 'restore'];
const CUT_RARELY = ['waiting lease', 'old token', 'replay', 'probe', 'read'];
/** Counted at the end of a campaign alone. */
const AT_END = 'abandoned space';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-kill-loop-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('the embedded server, killed again and again under all canonical operations', () => {
  it.concurrent.each([
    ['grouped commits', 'true', 0],
    ['one transaction each', 'false', 1],
  ])('keeps every promise that it made: %s', { timeout: PATIENCE_MS }, async (_, grouping, n) => {
    const seed = SEED + n;
    const kills = Math.ceil(KILLS / 2);
    const settings = [`CanonicalStore:Grouping=${grouping}`];
    const reached = (report: KillLoopReport) => missing(report, kills).every((kind) => kind === AT_END);
    const options = { folder: join(folder, grouping), kills, killsMax: KILLS_MAX, seed, settings, reached };
    const report = await new KillLoop(options).run();
    expect(report.faults, repeatLine).toEqual([]);
    expect(report.kills).toBeGreaterThanOrEqual(kills);
    expect(missing(report, kills)).toEqual([]);
  });
});

/** The calls that should have been answered, or cut off by a kill, and were not. */
function missing({ answered, cut }: KillLoopReport, kills: number): string[] {
  const all = kills >= KILLS_FOR_ALL / 2;
  const unanswered = [...ALWAYS, ...(all ? RARE : [])].filter((kind) => !answered.has(kind));
  const uncut = [...CUT, ...(all ? CUT_RARELY : [])].filter((kind) => !cut.has(kind));
  return [...unanswered, ...uncut.map((kind) => `cut ${kind}`)];
}

describe('a planted bug is found', () => {
  const flaws = Object.entries(FLAWS).filter(([name]) => inCi || USUAL_FLAWS.has(name));
  it.concurrent.each(flaws)(
    '%s',
    { timeout: PATIENCE_MS },
    async (name, { about, settings = [], kills = FLAW_KILLS, shows }) => {
      const nodeArgs = plantedFlaw(name);
      const faults: string[] = [];
      for (let n = 0; n < FLAW_CAMPAIGNS && faults.length === 0; n++) {
        const options = { folder: join(folder, `${name}-${n}`), kills, seed: SEED + n, settings, nodeArgs };
        const report = await new KillLoop(options).run();
        faults.push(...report.faults);
        if (faults.length > 0)
          console.log(`${name}: found by campaign ${n + 1}, after ${report.kills} kills`);
      }
      expect(faults.join('\n'), `${about}; ${repeatLine}`).toMatch(shows);
    },
  );
});
