import type { Fault } from './fault.ts';
import type { Host } from './setting.ts';
import type { Settings } from './table.ts';

/** What no single setting can say: a rule between settings. Answers why the service must not start. */
export type Rule = (settings: Settings, host: Host, isGiven: IsGiven) => readonly RuleFault[];

/** Whether somebody gave the setting of that key a value, be it the one that it has by default. */
export type IsGiven = (key: string) => boolean;

export type RuleFault = Pick<Fault, 'key' | 'message'>;
