import type { Fault } from './fault.ts';
import type { Host } from './setting.ts';
import type { Settings } from './table.ts';

/** What no single setting can say: a rule between settings. Answers why the service must not start. */
export type Rule = (settings: Settings, host: Host) => readonly RuleFault[];

export type RuleFault = Pick<Fault, 'key' | 'message'>;
