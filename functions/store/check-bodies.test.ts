import { expect, test } from 'vitest';
import { MemoryDatabase } from '../../test/simulation/memory-database.ts';
import { MemoryStore } from '../../test/simulation/memory-store.ts';
import { machine } from '../compose/machine.ts';
import { BodyCheck, BYTES_A_SHARE, PERIOD_MS } from './check-bodies.ts';
import type { HashedBodies } from './hashed-bodies.ts';
import { StoreError } from './port.ts';
import { recordId } from './record-id.ts';

type Verify = (place: string) => Promise<number>;

const SMALL = 1;
const sound: Verify = () => Promise.resolve(SMALL);

/** Pages of bodies; the position of a page is its number. */
function kindOf(kind: string, pages: readonly (readonly string[])[], verify: Verify): HashedBodies {
  return {
    kind,
    remedy: 'Mend it.',
    page(after) {
      const at = Number(after ?? 0);
      const bodies = (pages[at] ?? []).map((place) => ({ place, name: place, verify: () => verify(place) }));
      return Promise.resolve({ bodies, next: at + 1 < pages.length ? String(at + 1) : null });
    },
  };
}

/** Upkeep over these bodies; each share is one of another process, as after a new start. */
function upkeepOf(bodies: readonly HashedBodies[]) {
  const store = new MemoryStore(new MemoryDatabase());
  const scope = { kind: 'system', name: 'execution' } as const;
  const key = { collection: 'counters', id: recordId('check') };
  const lines: { readonly severity: string; readonly message: string; readonly failure: string }[] = [];
  const seen: unknown[] = [];
  let now = 0;
  const share = async (isOver = () => false): Promise<void> => {
    const check = new BodyCheck({
      store: () => Promise.resolve(store),
      world: { clock: { now: () => now }, turns: machine.turns },
      log: (line) => void lines.push(line as never),
      saw: (error) => void seen.push(error),
      bodies: () => bodies,
      at: { scope, key },
    });
    try {
      await check.share(isOver);
    } finally {
      const { records } = await store.query(scope, { by: 'keys', keys: [{ key }] });
      now = Number(records[0]?.head['nextAt']);
    }
  };
  /** Whether all bodies were read. */
  const isDone = () => now >= PERIOD_MS;
  return { share, isDone, lines, seen };
}

/** Shares until all bodies were read: how many. */
async function all({ share, isDone }: ReturnType<typeof upkeepOf>): Promise<number> {
  for (let shares = 1; shares < 100; shares += 1) {
    await share();
    if (isDone()) return shares;
  }
  throw new Error('the check has no end');
}

const PAGES = [['a', 'b', 'c'], ['d'], [], ['e', 'f']];
const PLACES = PAGES.flat();

test('the bytes of a share are asked for before each body, and each body is read once', async () => {
  const read: string[] = [];
  const large: Verify = (place) => Promise.resolve((read.push(place), BYTES_A_SHARE));
  const upkeep = upkeepOf([kindOf('one', PAGES, large), kindOf('other', [['g', 'h']], large)]);
  await upkeep.share();
  expect(read).toEqual(['a']);
  await upkeep.share();
  expect(read).toEqual(['a', 'b']);
  await all(upkeep);
  expect(read).toEqual([...PLACES, 'g', 'h']);
});

test('a stopping service waits for one body, and the next share continues after it', async () => {
  const read: string[] = [];
  const upkeep = upkeepOf([kindOf('one', PAGES, (place) => Promise.resolve((read.push(place), SMALL)))]);
  await upkeep.share(() => read.length === 2);
  expect(read).toEqual(['a', 'b']);
  await all(upkeep);
  expect(read).toEqual(PLACES);
});

test('a share without time does not postpone the next one', async () => {
  const upkeep = upkeepOf([kindOf('one', PAGES, sound)]);
  await upkeep.share(() => true);
  expect(upkeep.isDone()).toBe(false);
});

test('a body that was removed from the page makes the page start again', async () => {
  const read: string[] = [];
  const page = ['a', 'b', 'c'];
  const upkeep = upkeepOf([kindOf('one', [page], (place) => Promise.resolve((read.push(place), SMALL)))]);
  await upkeep.share(() => read.length === 1);
  page.shift();
  await all(upkeep);
  expect(read).toEqual(['a', 'b', 'c']);
});

test('a failing list keeps the bodies that were read before it', async () => {
  const read: string[] = [];
  const kind = kindOf('one', PAGES, (place) => Promise.resolve((read.push(place), SMALL)));
  let isAway = true;
  const page = (after: string | null) =>
    isAway && after === '1' ? Promise.reject(new StoreError('unavailable', 'away')) : kind.page(after);
  const upkeep = upkeepOf([{ ...kind, page }]);
  await expect(upkeep.share()).rejects.toMatchObject({ failure: 'unavailable' });
  isAway = false;
  await all(upkeep);
  expect(read).toEqual(PLACES);
});

/** Reads that fail at these places, and a list of all places that were asked for. */
function failing(places: readonly string[], asked: string[] = []): Verify {
  return (place) => {
    asked.push(place);
    const failure = new StoreError('unavailable', 'EIO');
    return places.includes(place) ? Promise.reject(failure) : Promise.resolve(SMALL);
  };
}

test('an unreadable body is named, is no damage, and the following bodies are read', async () => {
  const asked: string[] = [];
  const upkeep = upkeepOf([kindOf('one', PAGES, failing(['b', 'd'], asked))]);
  expect(await all(upkeep)).toBe(1);
  expect(asked).toEqual(PLACES);
  expect(upkeep.lines).toMatchObject([
    { severity: 'WARNING', failure: 'one b: EIO' },
    { severity: 'WARNING', failure: 'one d: EIO' },
  ]);
  expect(upkeep.lines[0]?.message).toContain('A stored body could not be read.');
  expect(upkeep.seen).toEqual([]);
});

test('after several failures in a row the share ends, and the next one starts with the first of them', async () => {
  const asked: string[] = [];
  const away = ['b', 'c', 'd', 'e', 'f'];
  const upkeep = upkeepOf([kindOf('one', PAGES, failing(away, asked))]);
  await upkeep.share();
  expect(asked).toEqual(['a', 'b', 'c', 'd']);
  await upkeep.share();
  expect(asked.splice(0).slice(4)).toEqual(['b', 'c', 'd']);
  away.length = 0;
  await upkeep.share();
  expect(asked).toEqual(['b', 'c', 'd', 'e', 'f']);
  expect(upkeep.isDone()).toBe(true);
});

test('many in a row that can never be read keep nothing behind them from being read', async () => {
  const asked: string[] = [];
  const upkeep = upkeepOf([kindOf('one', PAGES, failing(['a', 'b', 'c', 'd', 'e'], asked))]);
  await all(upkeep);
  expect(asked.at(-1)).toBe('f');
});

test('a last one that can never be read does not keep the check from its end', async () => {
  const upkeep = upkeepOf([kindOf('one', PAGES, failing(['f']))]);
  expect(await all(upkeep)).toBeGreaterThan(1);
});
