import { integer } from '../kinds.ts';
import { setting } from '../setting.ts';

/** Objects: served where collections and records are. */
// biome-ignore format: a table reads better with one setting a line or two
export const objects = {
  bytesInFlightMax: setting('Objects:BytesInFlightMax', integer(1_048_576, 17_179_869_184), 134_217_728,
    'Bytes of objects that a process holds while they arrive, are stored and are sent. One space may hold half of them. Calls beyond it are answered 503 and may be tried again; the only call of a process is never refused.', { unit: 'bytes' }),
} as const;
