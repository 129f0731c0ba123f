import { databasePath } from '../../functions/compose/database-path.ts';
import type { Settings } from '../../functions/config/table.ts';
import { FileWatch } from '../file-watch.ts';
import { type Check, warning } from './check.ts';

/** Faults found in a file that was written meanwhile prove nothing: they become one warning. */
export async function unlessWritten(path: string, look: () => Promise<Check[]>): Promise<Check[]> {
  const watch = new FileWatch(path);
  const checks = await look();
  const faults = checks.filter(({ status }) => status === 'failed');
  const [fault] = faults;
  if (fault === undefined || !watch.changed) return checks;
  const message = `${path} was written during the look, so the ${faults.length} faults found may be none.`;
  const rest = checks.filter(({ status }) => status !== 'failed');
  return [...rest, warning(fault.id, message, 'Look again while no server writes.')];
}

/** As `unlessWritten`, for the database of these settings if it is a file. */
export function unlessDatabaseWritten(settings: Settings, look: () => Promise<Check[]>): Promise<Check[]> {
  return settings.canonicalStore.provider === 'sqlite' ? unlessWritten(databasePath(settings), look) : look();
}
