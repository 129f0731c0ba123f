import type { Fault } from './fault.ts';
import type { Host } from './setting.ts';
import type { Settings } from './table.ts';

/** A rule between settings. Returns the reasons why the service must not start. */
export type Rule = (
  settings: Settings,
  host: Host,
  isGiven: IsGiven,
  sourceOf: SourceOf,
) => readonly RuleFault[];

/** Whether a source sets the key, even to its default value. */
type IsGiven = (key: string) => boolean;

/** The source of the setting's value; `undefined` for the default. */
export type SourceOf = (key: string) => string | undefined;

export type RuleFault = Pick<Fault, 'key' | 'message'>;

/** A setting that lets the service start and that an operator probably did not mean. */
export interface Advice extends RuleFault {
  /** The steps by which the operator removes the fault. */
  readonly remedy: string;
}
