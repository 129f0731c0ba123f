import { isServed } from './rules.ts';
import { type Settings, table } from './table.ts';

/** A part of the service that the settings switch off. */
export interface GroupOff {
  readonly group: 'canonical' | 'execution' | 'docs';
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
  if (!docs.enabled) off.push(disabled('docs', table.docs.enabled.key));
  return off;
}

function disabled(group: GroupOff['group'], key: string): GroupOff {
  return { group, reason: `${key} is false`, remedy: 'true serves it' };
}

/** One line for an operator: `execution: off, no policies in … (svc init writes them)`. */
export function offLine({ group, reason, remedy }: GroupOff): string {
  return `${group}: off, ${reason} (${remedy})`;
}
