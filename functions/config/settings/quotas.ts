import { integer } from '../kinds.ts';
import { setting } from '../setting.ts';

const GIB = 1024 ** 3;
const TIB = 1024 ** 4;

/** Storage limits of one owner. */
// biome-ignore format: a table reads better with one setting a line or two
export const quotas = {
  tenantBytesMax: setting('Quotas:TenantBytesMax', integer(1, 1_000 * TIB), 10 * GIB,
    'Bytes that a tenant may store: its documents with their history, and the payloads, results, checkpoints and artifacts of its runs. A write that exceeds this is refused with 409 `quota_exceeded`; a deletion or an end of work never is.', { unit: 'bytes' }),
  spaceBytesMax: setting('Quotas:SpaceBytesMax', integer(1, 1_000 * TIB), 10 * GIB,
    'Bytes that a space may store: its records with their vectors, its objects and its traces.', { unit: 'bytes' }),
  runArtifactBytesMax: setting('Quotas:RunArtifactBytesMax', integer(1, 1_000 * TIB), GIB,
    'Bytes of all artifacts of one run.', { unit: 'bytes' }),
  diskSharePercent: setting('Quotas:DiskSharePercent', integer(1, 100), 80,
    'Share of the disk that one tenant or space may use with the provider sqlite, if that is less than its bytes. A counted byte is taken as 2.5 bytes of the disk, because of the indexes; 100 sets no limit by the disk.', { unit: 'percent' }),
} as const;
