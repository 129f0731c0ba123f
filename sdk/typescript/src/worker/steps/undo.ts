import { WorkStopped } from '../errors.ts';
import type { Branch } from './branches.ts';
import type { Execution } from './execution.ts';
import { ChangedCode, type Stop } from './faults.ts';

/**
 * Undoes the steps that have a result, the last one first. Each is undone once, also where the worker dies in between. A step
 * that cannot be undone stops no other.
 */
export async function undoAll(execution: Execution, ending: Stop, branch: Branch): Promise<void> {
  if (execution.undos.size === 0) return;
  await execution.end(ending);
  for (const key of execution.journal.allKeys().reverse()) {
    try {
      await execution.undos.get(key)?.(branch);
    } catch (error) {
      if (error instanceof WorkStopped || error instanceof ChangedCode || branch.signal.aborted) throw error;
      execution.port.log('warning', `the step "${key}" could not be undone`, error);
    }
  }
}
