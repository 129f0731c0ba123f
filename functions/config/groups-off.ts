import { isRecordGroup, isServed, providersOff, recordsOff } from './rules.ts';
import { type Settings, table } from './table.ts';

/** A part of the service that the settings switch off. */
export interface GroupOff {
  readonly group: 'canonical' | 'execution' | 'records' | 'providers' | 'docs';
  readonly reason: string;
  readonly remedy: string;
}

/** The parts of the service that a process with these settings does not serve, with the reasons. */
export function groupsOff(settings: Settings): readonly GroupOff[] {
  const off: GroupOff[] = [];
  const { canonicalStore, execution, docs } = settings;
  if (!canonicalStore.enabled) off.push(disabled('canonical', table.canonicalStore.enabled.key));
  if (!execution.enabled) off.push(disabled('execution', table.execution.enabled.key));
  else if (!isServed(settings, 'execution')) {
    const { key } = table.executionAccess.identityPolicies;
    off.push({ group: 'execution', reason: `no policies in ${key}`, remedy: 'svc init writes them' });
  }
  const records = recordPlaneOff(settings);
  if (records !== null) off.push(records);
  const providers = providersOff(settings);
  if (providers === 'no-runtime') off.push(disabled('providers', table.execution.enabled.key));
  if (providers === 'no-policies') off.push(withoutPolicies('providers'));
  if (!docs.enabled) off.push(disabled('docs', table.docs.enabled.key));
  return off;
}

/** Collections and records are two groups of the catalog, and one part for an operator. */
function recordPlaneOff(settings: Settings): GroupOff | null {
  const why = recordsOff(settings);
  if (why === null) return null;
  if (why === 'disabled') return disabled('records', table.records.enabled.key);
  if (why === 'no-runtime') return disabled('records', table.execution.enabled.key);
  return withoutPolicies('records');
}

function withoutPolicies(group: 'records' | 'providers'): GroupOff {
  const part = group === 'records' ? 'recordAccess' : 'providerAccess';
  return {
    group,
    reason: `no policies in ${table[part].identityPolicies.key}`,
    remedy: 'svc init writes them',
  };
}

/** The reason why the group of the catalog is off; `undefined` for a served or unknown group. */
export function groupOff(settings: Settings, group: string | undefined): GroupOff | undefined {
  const part = group !== undefined && isRecordGroup(group) ? 'records' : group;
  const off = groupsOff(settings);
  const own = off.find((each) => each.group === part);
  if (own !== undefined || group === undefined || isServed(settings, group)) return own;
  return off.find((each) => each.group === 'canonical' || each.group === 'execution');
}

function disabled(group: GroupOff['group'], key: string): GroupOff {
  return { group, reason: `${key} is false`, remedy: 'true serves it' };
}

/** One line for an operator: `execution: off, no policies in … (svc init writes them)`. */
export function offLine({ group, reason, remedy }: GroupOff): string {
  return `${group}: off, ${reason} (${remedy})`;
}
