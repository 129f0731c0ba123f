import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeHistories } from './histories.ts';

describeHistories(
  'sqlite',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'svc-histories-'));
    return {
      database: { provider: 'sqlite', path: join(folder, 'canonical.sqlite') },
      drop: () => rm(folder, { recursive: true }),
    };
  },
  { clients: 10, operations: 1_000, killAfter: [300, 700] },
);
