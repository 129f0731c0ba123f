import { machine } from '../../functions/compose/machine.ts';
import { limitsOf } from '../../functions/compose/quotas.ts';
import { composeRunTool } from '../../functions/compose/run-tool.ts';
import type { Settings } from '../../functions/config/table.ts';
import type { Timers } from '../../functions/kernel/world.ts';
import { listUse, sumOf } from '../../functions/quotas/usage-store.ts';
import { type CeilingUse, nearCeilings } from '../../functions/runs/near-ceilings.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { printable } from '../remote/printable.ts';
import { type Check, warning } from './check.ts';
import { faultWithin, silence } from './in-time.ts';

/** From this share on the operator is warned, before writes and starts of the owner are refused. */
const WARNED_PERCENT = 80;
/** The time limit for the reads of each check. */
const READ_MAX_MS = 15_000;
/** Owners that a check names. */
const NAMED_MAX = 10;

export interface CeilingLook {
  readonly timers?: Timers;
  /** Active runs of each status that are read for the names of owners. */
  readonly runsRead?: number | undefined;
}

/**
 * Warns where owners have nearly used up their storage, and where the number of active runs or jobs nears its ceiling.
 * Figures that cannot be read in time are a warning too: the database itself answers.
 */
export async function ceilingChecks(
  settings: Settings,
  store: RecordStore,
  { timers = machine.timers, runsRead }: CeilingLook = {},
): Promise<Check[]> {
  const quotas = { id: 'quotas', subject: 'The bytes that owners have stored' };
  const active = { id: 'active-runs', subject: 'The ceilings of active runs and jobs' };
  const checks = await Promise.all([
    unlessUnread(timers, quotas, () => quotaCheck(settings, store)),
    unlessUnread(timers, active, () => activeCheck(settings, store, runsRead)),
  ]);
  return checks.flat();
}

async function unlessUnread(
  timers: Timers,
  { id, subject }: { readonly id: string; readonly subject: string },
  look: () => Promise<Check[]>,
): Promise<Check[]> {
  let checks: Check[] = [];
  const fault = await faultWithin(timers, READ_MAX_MS, async () => {
    checks = await look();
  });
  if (fault === undefined) return checks;
  const reason = fault === silence ? `no answer within ${READ_MAX_MS / 1_000} seconds` : fault;
  const remedy = 'Look again; where it stays so, svc doctor --deep names stored bodies that are damaged.';
  return [warning(id, `${subject} could not be read: ${reason}.`, remedy)];
}

async function quotaCheck(settings: Settings, store: RecordStore): Promise<Check[]> {
  const limitOf = limitsOf(settings);
  const near = (await listUse(store)).flatMap(({ owner, use }) => {
    const { bytes, setting } = limitOf(owner);
    const used = sumOf(use);
    if (used * 100 < bytes * WARNED_PERCENT) return [];
    const kind = owner.kind === 'tenants' ? 'tenant' : 'space';
    return [`the ${kind} ${printable(owner.name)} has stored ${used} of ${bytes} bytes (${setting})`];
  });
  if (near.length === 0) return [];
  return [warning('quotas', textOf(near), 'Look at svc usage, and remove data or raise the setting.')];
}

async function activeCheck(settings: Settings, store: RecordStore, runsRead?: number): Promise<Check[]> {
  if (!settings.execution.enabled) return [];
  const parts = { settings, world: machine, log: () => undefined };
  const runtime = await composeRunTool(parts, () => Promise.resolve(store));
  const { uses, hasFurther } = await nearCeilings(runtime, WARNED_PERCENT, runsRead);
  if (uses.length === 0 && !hasFurther) return [];
  const remedy =
    'Raise the setting, or cancel runs that nothing waits for: beyond it a start is refused with queue_full.';
  return [warning('active-runs', textOf(uses.map(useText), hasFurther ? FURTHER : null), remedy)];
}

function useText({ ceiling, owner, used, limit, setting }: CeilingUse): string {
  const what = ceiling === 'runs' || ceiling === 'runShare' ? 'runs' : 'jobs';
  const whose = owner === null ? 'the deployment' : `the ${printable(owner)}`;
  return `${used} of ${limit} ${what} of ${whose} are queued, running or waiting (${setting})`;
}

/** More active runs than are read for the names of owners. */
const FURTHER = 'shares of further tenants or spaces, which were not looked for, are nearly full';

function textOf(lines: readonly string[], last: string | null = null): string {
  const more = lines.length > NAMED_MAX ? [`and ${lines.length - NAMED_MAX} more`] : [];
  const text = [...lines.slice(0, NAMED_MAX), ...more, ...(last === null ? [] : [last])].join('; ');
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
