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
/** The seed repeats what was asked, though not who came first. */
const SEED = seedOf('kill loop');
/** With fewer kills, what is rare may well not have happened. */
const KILLS_FOR_ALL = 80;
/** Many times what a quiet machine takes. */
const PATIENCE_MS = 600_000;
/** After so many kills a flaw is taken for one that is not found. */
const FLAW_KILLS = 160;

/** The bugs that are planted outside CI: of commits, of restores and of leases. */
const USUAL_FLAWS = new Set(['early-answers', 'early-flip', 'unchecked-tokens']);

const ALWAYS = ['commit', 'lease', 'old token', 'replay', 'generation'];
const RARE = [
  'repeat, reuse, read, query, revisions, waiting lease, outbox query, restore, refused restore',
  'commit on a restored tenant, apply, contradiction, list, export under load, abandoned space',
].flatMap((names) => names.split(', '));
const CUT = ['commit', 'lease', 'restore'];
const CUT_RARELY = ['waiting lease', 'old token', 'replay', 'probe', 'read'];

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
    const report = await new KillLoop({ folder: join(folder, grouping), kills, seed, settings }).run();
    expect(report.faults, repeatLine).toEqual([]);
    expect(report.kills).toBeGreaterThanOrEqual(kills);
    expectReach(report);
  });
});

function expectReach({ kills, answered, cut }: KillLoopReport): void {
  const all = kills >= KILLS_FOR_ALL / 2;
  expect([...answered.keys()]).toEqual(expect.arrayContaining(all ? [...ALWAYS, ...RARE] : ALWAYS));
  expect([...cut.keys()]).toEqual(expect.arrayContaining(all ? [...CUT, ...CUT_RARELY] : CUT));
}

describe('a planted bug is found', () => {
  const flaws = Object.entries(FLAWS).filter(([name]) => inCi || USUAL_FLAWS.has(name));
  it.concurrent.each(flaws)(
    '%s',
    { timeout: PATIENCE_MS },
    async (name, { about, settings = [], kills = FLAW_KILLS, shows }) => {
      const nodeArgs = plantedFlaw(name);
      const options = { folder: join(folder, name), kills, seed: SEED, settings, nodeArgs };
      const { faults } = await new KillLoop(options).run();
      expect(faults.join('\n'), `${about}; ${repeatLine}`).toMatch(shows);
    },
  );
});
