import type { Json } from '../kernel/canonical-json.ts';
import type { PluginHandler, RunContext } from '../runs/plugin.ts';
import type { Run, RunScope } from '../runs/run.ts';
import type { JobCaller, RunJob } from '../runs/run-job.ts';
import type { Runtime } from '../runs/runtime.ts';

/** The durable work of one group: handlers that belong to the service and start only through an operation of the group. */
export interface JobPlugin {
  readonly pluginId: string;
  readonly name: string;
  /** The job views that show these jobs, such as `record-import`: jobs of other families do not exist there. */
  readonly family: string;
  /** Path of these job views, such as `/record-import/jobs`. */
  readonly statusPath: string;
  readonly handlers: readonly JobHandler[];
  /** Work that no caller waits for, such as removing leftovers: embedded servers and the scheduled functions call it. */
  readonly maintain?: (maintenance: Maintenance) => Promise<Readonly<Record<string, number>>>;
}

export interface Maintenance {
  readonly runtime: Runtime;
  /** Asked between two steps; the next maintenance does the rest. */
  readonly isOver: () => boolean;
}

export interface JobHandler extends Omit<PluginHandler, 'run'> {
  /**
   * Throws `permission_denied` where the access rules of the group forbid the job. The operation asks it before it admits a
   * job; the worker asks it again before each execution.
   */
  readonly judge: (job: JobFacts) => void | Promise<void>;
  /**
   * Does all writes of the job. A worker may execute it again after a crash, a retry or a wait, so each write must be
   * idempotent, and a checkpoint saves work that is done. Import the code here, so that only a worker loads it.
   */
  readonly run: (context: JobContext) => Promise<Json | undefined>;
}

/** What is known of a job before and while it runs. */
export interface JobFacts {
  readonly handlerId: string;
  readonly caller: JobCaller;
  readonly scope: RunScope | null;
  readonly space: string;
  readonly subject: string | null;
}

export interface JobContext extends RunContext {
  readonly job: RunJob;
}

type Tags = Run['tags'];
type Fact = string | number;

/** The tag of each fact, and its value in a run without the tag. */
export type FactTags<Facts> = {
  readonly [Name in keyof Facts]: readonly [tag: string, without: Facts[Name]];
};

/**
 * What a job was admitted for, in the tags of its run. The views of a whole list show the facts, and a payload would need a read for
 * each job.
 */
export function jobFacts<Facts extends { readonly [Name in keyof Facts]: Fact }>(tags: FactTags<Facts>) {
  const entries = Object.entries(tags) as [keyof Facts, readonly [string, Fact]][];
  return {
    tagsOf: (facts: Facts): Tags =>
      Object.fromEntries(entries.map(([name, [tag]]) => [tag, String(facts[name])])),
    factsOf: (given: Tags): Facts => {
      const found = entries.map(([name, [tag, without]]) => {
        const value = given[tag] ?? without;
        return [name, typeof without === 'number' ? Number(value) : value] as const;
      });
      return Object.fromEntries(found) as Facts;
    },
  };
}
