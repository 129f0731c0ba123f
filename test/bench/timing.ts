import { randomBytes } from 'node:crypto';
import type { EventState } from '../../functions/groups/canonical/outbox/outbox-event.ts';
import { renewIfLeased } from '../../functions/groups/canonical/outbox/outbox-rules.ts';
import { createApiKeys, hashApiKey } from '../../functions/identity/api-keys.ts';
import { sha256 } from '../../functions/kernel/canonical-json.ts';
import type { BenchOptions } from './canonical-http.ts';
import { round } from './load.ts';

/**
 * K02: whether the time of a refusal reveals how much of a guess was right. Two kinds of guesses, one that begins as the
 * secret does and one that does not, are refused in random order, so that other load on the machine affects both.
 */

const SAMPLES = 100_000;
const WARMUP = 20_000;
const GUESSES = 256;
/** Interruptions by the machine are cut off, at one bound for both kinds. */
const KEPT = 0.99;

type Kind = 'rightPrefix' | 'wrongPrefix';
type Refuse = (guess: string) => unknown;

export async function benchTiming(_options: BenchOptions): Promise<object> {
  const secret = randomBytes(32).toString('hex');
  return {
    bench: 'timing',
    measures:
      'nanoseconds of a refusal for guesses that share all but the last 8 of 64 characters with the secret and for ' +
      'guesses that share none; the difference of medians and Welch t of the fastest 99 %',
    samplesPerKind: SAMPLES,
    limits: { medianDifferenceNs: 1000, welchT: 4.5 },
    leaseToken: await compare(secret, refuseLease(secret)),
    apiKey: await compare(secret, refuseApiKey(secret)),
    // The control proves that the instrument sees a difference where there is one.
    controlStopsAtFirstDifference: await compare(secret, (guess) => stopsAtFirstDifference(secret, guess)),
  };
}

function refuseLease(token: string): Refuse {
  const now = '2026-01-02T03:04:05.000Z';
  const later = '2026-01-02T03:05:05.000Z';
  const event: EventState = {
    id: 'event',
    transactionId: 'ctx',
    topic: 'topic',
    key: 'key',
    state: 'leased',
    createdAtUtc: now,
    notBeforeUtc: null,
    maxDeliveryAttempts: null,
    deliveryCount: 1,
    leaseOwner: 'consumer',
    leaseExpiresAtUtc: later,
    leaseTokenHash: sha256(token),
    deliveredAtUtc: null,
    deadLetteredAtUtc: null,
    lastError: null,
  };
  return (guess) => refused(() => renewIfLeased(event, guess, later, now));
}

function refuseApiKey(key: string): Refuse {
  const keys = createApiKeys({ hashes: [hashApiKey(key)], headerName: 'X-Svc-Api-Key' });
  return (guess) =>
    keys
      .check({ get: (name) => (name === 'x-svc-api-key' ? guess : undefined) })
      .then(notRefused, () => true);
}

function refused(call: () => unknown): boolean {
  try {
    call();
  } catch {
    return true;
  }
  return notRefused();
}

function notRefused(): never {
  throw new Error('a wrong guess was accepted');
}

function stopsAtFirstDifference(secret: string, guess: string): boolean {
  for (let n = 0; n < secret.length; n++) if (secret.charCodeAt(n) !== guess.charCodeAt(n)) return false;
  return true;
}

async function compare(secret: string, refuse: Refuse): Promise<object> {
  const guesses = { rightPrefix: guessesOf(secret, true), wrongPrefix: guessesOf(secret, false) };
  const times: Record<Kind, number[]> = { rightPrefix: [], wrongPrefix: [] };
  for (let n = -WARMUP; times.rightPrefix.length < SAMPLES || times.wrongPrefix.length < SAMPLES; n++) {
    const kind: Kind = Math.random() < 0.5 ? 'rightPrefix' : 'wrongPrefix';
    const guess = guesses[kind][Math.floor(Math.random() * GUESSES)] ?? '';
    const startedAt = process.hrtime.bigint();
    const answer = refuse(guess);
    if (answer instanceof Promise) await answer;
    const took = Number(process.hrtime.bigint() - startedAt);
    if (n >= 0 && times[kind].length < SAMPLES) times[kind].push(took);
  }
  return verdict(times);
}

/** Both kinds are made in the same way, so that the engine holds their texts alike. */
function guessesOf(secret: string, rightPrefix: boolean): string[] {
  const bytes = Buffer.from(secret, 'latin1');
  return Array.from({ length: GUESSES }, () => {
    const guess = Buffer.from(randomBytes(32).toString('hex'), 'latin1');
    if (rightPrefix) bytes.copy(guess, 0, 0, bytes.length - 8);
    // No character is the right one by chance where none should be, nor the whole guess.
    const from = rightPrefix ? bytes.length - 8 : 0;
    for (let n = from; n < bytes.length; n++) if (guess[n] === bytes[n]) guess[n] = 0x67;
    return guess.toString('latin1');
  });
}

function verdict(times: Readonly<Record<Kind, readonly number[]>>): object {
  const sorted = [...times.rightPrefix, ...times.wrongPrefix].sort((a, b) => a - b);
  const bound = sorted[Math.floor(sorted.length * KEPT)] ?? 0;
  const right = summary(times.rightPrefix, bound);
  const wrong = summary(times.wrongPrefix, bound);
  const t =
    (right.mean - wrong.mean) / Math.sqrt(right.variance / right.count + wrong.variance / wrong.count);
  return {
    medianNs: { rightPrefix: right.median, wrongPrefix: wrong.median },
    medianDifferenceNs: right.median - wrong.median,
    welchT: round(t),
  };
}

function summary(values: readonly number[], bound: number) {
  const kept = values.filter((value) => value <= bound).sort((a, b) => a - b);
  const mean = kept.reduce((sum, value) => sum + value, 0) / kept.length;
  const variance = kept.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (kept.length - 1);
  return { count: kept.length, median: kept[Math.floor(kept.length / 2)] ?? 0, mean, variance };
}
