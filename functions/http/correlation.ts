import { limits } from '../../contracts/generated/limits.ts';
import type { RandomSource } from '../kernel/world.ts';

export const correlationHeader = 'X-Correlation-ID';

// A subset of the visible ASCII that the contract promises to echo: no character has a meaning in a log line, in HTML
// or in a shell. Any other value is replaced, never repaired.
const safe = /^[A-Za-z0-9._:-]+$/;

/** The caller's correlation id where it is safe to repeat, else a fresh one of 32 hexadecimal digits. */
export function correlationIdOf(sent: string | undefined, random: RandomSource): string {
  if (sent !== undefined && sent.length <= limits.correlationIdLengthMax && safe.test(sent)) return sent;
  return Buffer.from(random.bytes(16)).toString('hex');
}
