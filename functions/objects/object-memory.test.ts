import { describe, expect, test } from 'vitest';
import { ObjectMemory } from './object-memory.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
/** A call that holds no more is never refused. */
const SMALL = 64 * KIB;
const busy = expect.objectContaining({ code: 'unavailable', extensions: { retryAfterSeconds: 1 } });

class Stage {
  now = 0;
  readonly bytes: ObjectMemory;
  constructor(bytesMax: number, objectBytesMax = bytesMax / 2) {
    this.bytes = new ObjectMemory(bytesMax, objectBytesMax, { now: () => this.now });
  }

  /** An upload that has begun, and how it ended for others. */
  upload(space: string, promised: number) {
    const lease = this.bytes.lease(space);
    const seen: { error: unknown } = { error: null };
    lease.begin(promised, (error) => {
      seen.error = error;
    });
    const arrive = (bytes: number) => {
      lease.progress(bytes);
      lease.take(bytes);
    };
    return { lease, seen, arrive };
  }
}

describe('bytes in flight', () => {
  test('leave half of the process to other spaces', () => {
    const { bytes } = new Stage(8 * MIB);
    const [first, second, other] = [bytes.lease('a'), bytes.lease('a'), bytes.lease('b')];
    first.take(3 * MIB);
    second.take(MIB);
    expect(() => second.take(SMALL + 1)).toThrow(busy);
    other.take(4 * MIB);
    const third = bytes.lease('c');
    expect(() => third.take(SMALL + 1)).toThrow(busy);
    first.release();
    first.release();
    third.take(3 * MIB);
    expect(bytes.total).toBe(8 * MIB);
    for (const lease of [second, other, third]) lease.release();
    expect(bytes.total).toBe(0);
  });

  test('have room for the largest object in the share of a space', () => {
    const { bytes } = new Stage(8 * MIB, 6 * MIB);
    bytes.lease('a').take(SMALL);
    bytes.lease('a').take(6 * MIB - SMALL);
    expect(() => bytes.lease('a').take(SMALL + 1)).toThrow(busy);
  });

  test('never refuse a small object', () => {
    const { bytes } = new Stage(MIB);
    bytes.lease('a').take(MIB);
    const small = bytes.lease('a');
    small.take(SMALL);
    expect(() => small.take(1)).toThrow(busy);
    bytes.lease('b').take(SMALL);
  });

  test('never refuse a call that is alone', () => {
    const { bytes } = new Stage(MIB);
    const lease = bytes.lease('a');
    lease.take(5 * MIB);
    lease.take(5 * MIB);
    expect(() => bytes.lease('a').take(SMALL + 1)).toThrow(busy);
    expect(() => bytes.lease('b').take(SMALL + 1)).toThrow(busy);
    lease.release();
    bytes.lease('b').take(5 * MIB);
  });
});

describe('uploads', () => {
  test('that declare much and send little take nothing from others', () => {
    const { upload, bytes } = bound(new Stage(128 * MIB));
    const slow = [upload('a', 64 * MIB), upload('b', 64 * MIB)];
    for (const { arrive } of slow) arrive(SMALL);
    expect(bytes.total).toBe(2 * SMALL);
    const other = upload('c', 64 * MIB);
    other.arrive(60 * MIB);
    bytes.lease('d').take(60 * MIB);
  });

  test('that sent much and then dribble are ended where others need the room, and only there', () => {
    const stage = new Stage(128 * MIB);
    const { upload, bytes } = bound(stage);
    const slow = ['a', 'b'].map((space) => upload(space, 64 * MIB));
    for (const { arrive } of slow) arrive(63 * MIB);
    stage.now += 4_000;
    expect(() => bytes.lease('c').take(3 * MIB)).toThrow(busy);
    for (let second = 0; second < 5; second += 1) {
      stage.now += 1_000;
      for (const { arrive } of slow) arrive(16 * KIB);
    }
    upload('c', 2 * MIB).arrive(MIB);
    expect(slow.map(({ seen }) => seen.error)).toEqual([null, null]);
    bytes.lease('d').take(3 * MIB);
    // The oldest stays: of uploads that are all slow, one finishes.
    expect(slow.map(({ seen }) => seen.error)).toEqual([null, busy]);
    expect(() => slow[1]?.arrive(1)).toThrow(busy);
    expect(() => slow[1]?.lease.settle(1)).toThrow(busy);
    slow[0]?.arrive(MIB / 2);
    slow[0]?.lease.settle(64 * MIB);
  });

  test('that are slow are spared for a minute alone, however old they are', () => {
    const stage = new Stage(128 * MIB);
    const { upload, bytes } = bound(stage);
    const slow = upload('a', 64 * MIB);
    slow.arrive(63 * MIB);
    stage.now += 59_000;
    const prompt = upload('a', 0);
    prompt.arrive(SMALL);
    // This upload is slow: it has no right to the bytes of one that keeps the pace.
    expect(() => slow.lease.take(2 * MIB)).toThrow(busy);
    expect(() => bytes.lease('a').take(2 * MIB)).toThrow(busy);
    expect([slow, prompt].map(({ seen }) => seen.error)).toEqual([null, null]);
    stage.now += 2_000;
    bytes.lease('a').take(2 * MIB);
    expect([slow, prompt].map(({ seen }) => seen.error)).toEqual([busy, null]);
  });

  test('of declared size begin where slow ones would be ended for them', () => {
    const stage = new Stage(128 * MIB);
    const { upload } = bound(stage);
    const [first, slow] = [upload('a', 0), upload('a', 0)];
    slow.arrive(20 * MIB);
    for (let second = 0; second < 70; second += 1) {
      first.arrive(256 * KIB);
      stage.now += 1_000;
    }
    first.lease.settle(MIB);
    const declared = upload('a', 50 * MIB);
    expect(slow.seen.error).toBeNull();
    declared.arrive(50 * MIB);
    expect(slow.seen.error).toEqual(busy);
  });

  test('that keep the pace are not ended for others that would hold as much', () => {
    const stage = new Stage(8 * MIB);
    const { upload, bytes } = bound(stage);
    const uploads = ['a', 'b'].map((space) => upload(space, 4 * MIB));
    for (let second = 0; second < 12; second += 1) {
      for (const { arrive } of uploads) arrive(256 * KIB);
      stage.now += 1_000;
    }
    expect(() => bytes.lease('c').take(3 * MIB)).toThrow(busy);
    expect(uploads.map(({ seen }) => seen.error)).toEqual([null, null]);
  });

  test('that have arrived whole are not ended for others, however old they are', () => {
    const stage = new Stage(8 * MIB);
    const { upload, bytes } = bound(stage);
    upload('first', MIB).arrive(SMALL);
    const whole = upload('a', 4 * MIB);
    whole.arrive(4 * MIB);
    whole.lease.settle(4 * MIB);
    stage.now += 3_600_000;
    bytes.lease('b').take(3 * MIB);
    expect(() => bytes.lease('c').take(2 * MIB)).toThrow(busy);
    expect(whole.seen.error).toBeNull();
  });

  test('of one space begin where its promises leave room, and those of another space do not count', () => {
    const stage = new Stage(8 * MIB);
    const { upload } = bound(stage);
    upload('a', 3 * MIB);
    expect(() => upload('a', 2 * MIB)).toThrow(busy);
    upload('b', 4 * MIB);
    upload('c', 4 * MIB);
    // An upload that declared a size and sent nothing keeps no other upload waiting.
    stage.now += 1_001;
    upload('a', 2 * MIB);
  });

  test('of unknown size have the same bounds', () => {
    const { upload } = bound(new Stage(8 * MIB));
    const whole = upload('a', 0);
    whole.arrive(4 * MIB);
    const second = upload('a', 0);
    second.arrive(SMALL);
    expect(() => second.arrive(1)).toThrow(busy);
  });

  test('the oldest of the process, and of its space, has precedence before younger ones', () => {
    const { upload } = bound(new Stage(8 * MIB));
    const [oldest, sibling, other] = [upload('a', 4 * MIB), upload('a', 0), upload('b', 0)];
    oldest.arrive(MIB);
    sibling.arrive(3 * MIB);
    other.arrive(4 * MIB);
    oldest.arrive(3 * MIB);
    expect([oldest, sibling, other].map(({ seen }) => seen.error)).toEqual([null, busy, null]);
  });
});

describe('answers', () => {
  /** An answer on its way, and how it ended for others. */
  function answer(stage: Stage, space: string, size: number) {
    const lease = stage.bytes.lease(space);
    const seen: { error: unknown } = { error: null };
    lease.take(size);
    lease.serve((error) => {
      seen.error = error;
    });
    return { lease, seen };
  }

  test('that are read slowly are ended where others need the room, and only there', () => {
    const stage = new Stage(128 * MIB);
    const slow = ['a', 'b'].map((space) => answer(stage, space, 64 * MIB));
    for (let second = 0; second < 6; second += 1) {
      expect(() => stage.bytes.lease('c').take(MIB)).toThrow(busy);
      stage.now += 1_000;
      for (const { lease } of slow) lease.progress(64 * KIB);
    }
    stage.now += 3_000;
    expect(slow.map(({ seen }) => seen.error)).toEqual([null, null]);
    stage.bytes.lease('c').take(MIB);
    expect(slow.map(({ seen }) => seen.error)).toEqual([busy, null]);
    expect(stage.bytes.total).toBe(65 * MIB);
    const { lease } = stage.upload('b', 0);
    lease.take(MIB);
    expect(slow.map(({ seen }) => seen.error)).toEqual([busy, busy]);
  });

  /** Spaces that read the largest objects, and read them again, as fast as their bytes a second say. */
  class Readers {
    readonly #stage: Stage;
    readonly #pace: number;
    readonly #under = new Map<string, ReturnType<typeof answer> & { left: number }>();
    ended = 0;

    constructor(stage: Stage, pace: number) {
      this.#stage = stage;
      this.#pace = pace;
    }

    second(spaces: readonly string[]): void {
      this.#stage.now += 1_000;
      for (const space of spaces) {
        const own = this.#under.get(space);
        if (own !== undefined && own.seen.error === null && own.left > 0) {
          own.lease.progress(this.#pace);
          own.left -= this.#pace;
          continue;
        }
        if (own !== undefined && own.seen.error !== null) this.ended += 1;
        own?.lease.release();
        this.#under.delete(space);
        try {
          this.#under.set(space, { ...answer(this.#stage, space, 64 * MIB), left: 64 * MIB });
        } catch {
          // It asks again in the next second.
        }
      }
    }
  }

  test.each([256 * KIB, MIB])(
    'of two spaces that read the largest objects again and again at %i bytes a second leave room to others',
    (pace) => {
      const stage = new Stage(128 * MIB);
      const readers = new Readers(stage, pace);
      const seen = { refused: 0, waits: 0, longest: 0 };
      for (let second = 0; second < 600; second += 1) {
        readers.second(['a', 'b']);
        for (const space of ['c', 'd']) {
          const lease = stage.bytes.lease(space);
          try {
            lease.take(MIB);
            lease.release();
            seen.waits = 0;
          } catch {
            seen.refused += 1;
            seen.waits += 1;
            seen.longest = Math.max(seen.longest, seen.waits);
          }
        }
      }
      // Two callers ask once a second.
      expect(seen.longest).toBeLessThanOrEqual(2 * 10);
      expect(seen.refused).toBeLessThan(1_200 / 20);
    },
  );

  test('that are fast for what they hold are not ended for others, and end soon', () => {
    const stage = new Stage(128 * MIB);
    const readers = new Readers(stage, 8 * MIB);
    for (let second = 0; second < 60; second += 1) {
      readers.second(['a', 'b']);
      try {
        stage.bytes.lease('c').take(MIB);
      } catch {
        // There is no room for now.
      }
    }
    expect(readers.ended).toBe(0);
  });

  test('that linger give way to the space that holds less, and the largest first', () => {
    const stage = new Stage(128 * MIB);
    const [large, small, own] = [
      answer(stage, 'a', 60 * MIB),
      answer(stage, 'b', 58 * MIB),
      answer(stage, 'c', 10 * MIB),
    ];
    stage.now += 6_000;
    for (const { lease } of [large, small, own]) lease.progress(512 * KIB);
    // With 20 MiB more, space c would hold 30 MiB: not less than half of the 60 MiB of space a.
    expect(() => stage.bytes.lease('c').take(20 * MIB)).toThrow(busy);
    expect([large, small, own].map(({ seen }) => seen.error)).toEqual([null, null, null]);
    stage.bytes.lease('c').take(9 * MIB);
    expect([large, small, own].map(({ seen }) => seen.error)).toEqual([busy, null, null]);
  });

  test('that linger give way within their space to a call that holds less', () => {
    const stage = new Stage(128 * MIB);
    const slow = answer(stage, 'a', 40 * MIB);
    for (let second = 0; second < 10; second += 1) {
      stage.now += 1_000;
      slow.lease.progress(300 * KIB);
    }
    expect(() => stage.upload('a', 41 * MIB)).toThrow(busy);
    const upload = stage.upload('a', 30 * MIB);
    upload.arrive(24 * MIB);
    expect(slow.seen.error).toBeNull();
    upload.arrive(6 * MIB);
    expect(slow.seen.error).toEqual(busy);
  });

  test('of a part hold that part alone, and none where they are counted no more', () => {
    const { bytes } = new Stage(128 * MIB);
    const [part, gone] = [bytes.lease('a'), bytes.lease('a')];
    part.take(40 * MIB);
    part.serve(() => undefined, MIB);
    gone.take(MIB);
    gone.release();
    gone.serve(() => undefined, MIB);
    expect(bytes.total).toBe(MIB);
    part.release();
    expect(bytes.total).toBe(0);
  });

  test('that keep the pace of what they hold are not ended, not even for the oldest upload', () => {
    const stage = new Stage(8 * MIB);
    const upload = stage.upload('a', 0);
    const { lease, seen } = answer(stage, 'a', 4 * MIB);
    for (let second = 0; second < 8; second += 1) {
      stage.now += 1_000;
      lease.progress(256 * KIB);
      upload.lease.progress(256 * KIB);
    }
    expect(() => upload.lease.take(MIB)).toThrow(busy);
    expect(seen.error).toBeNull();
  });
});

function bound(stage: Stage) {
  return { upload: stage.upload.bind(stage), bytes: stage.bytes };
}
