import { readFile } from 'node:fs/promises';
import type { ProviderDoctorCheck } from '../../contracts/generated/models.ts';
import type { Settings } from '../config/table.ts';
import { ProviderFailure } from '../providers/failure.ts';
import { secretFile } from '../providers/outgoing/secret-file.ts';
import { liveEntriesOf } from './provider-targets.ts';

/** Checks a provider without calling it: whether the file of its key can be read. */
export function providerChecksOf({
  providers,
}: Settings): (id: string) => Promise<readonly ProviderDoctorCheck[]> {
  const files = new Map(liveEntriesOf(providers).map(({ Id, ApiKeyFile }) => [Id, ApiKeyFile]));
  return async (id) => {
    const path = files.get(id);
    return path === undefined ? [] : [await keyCheck(path)];
  };
}

/** The check shows neither the name nor the content of the file. */
async function keyCheck(path: string): Promise<ProviderDoctorCheck> {
  const id = 'auth.key_file';
  try {
    await secretFile(() => readFile(path, 'utf8'))();
    return { id, status: 'ok', message: 'The file with the key of the provider can be read.', details: {} };
  } catch (error) {
    if (!(error instanceof ProviderFailure)) throw error;
    return {
      id,
      status: 'failed',
      message: error.message,
      details: { providerStatus: error.providerStatus },
    };
  }
}
