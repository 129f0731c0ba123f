import { limits } from '../../contracts/generated/limits.ts';
import type { RandomSource } from '../kernel/world.ts';

export const correlationHeader = 'X-Correlation-ID';

// The visible ASCII that the contract promises to echo. Any other value is replaced, never repaired.
const safe = /^[\x21-\x7e]+$/;

/** The caller's correlation id if it is safe to repeat, else a new one of 32 hexadecimal digits. */
export function correlationIdOf(sent: string | undefined, random: RandomSource): string {
  if (sent !== undefined && sent.length <= limits.correlationIdLengthMax && safe.test(sent)) return sent;
  return Buffer.from(random.bytes(16)).toString('hex');
}
