import type { Json } from '../kernel/canonical-json.ts';
import type { PluginHandler, RunContext } from '../runs/plugin.ts';
import type { Run, RunScope } from '../runs/run.ts';
import type { JobCaller, RunJob } from '../runs/run-job.ts';
import type { Runtime } from '../runs/runtime.ts';

/** The durable work of one group: handlers of the service that only an operation of the group can start. */
export interface JobPlugin {
  readonly pluginId: string;
  readonly name: string;
  /** Name of the job views that show these jobs, such as `record-import`. They do not show jobs of other families. */
  readonly family: string;
  /** Path of these job views, such as `/record-import/jobs`. */
  readonly statusPath: string;
  readonly handlers: readonly JobHandler[];
  /** Background work such as removing leftovers. Embedded servers and the scheduled functions call it. */
  readonly maintain?: (maintenance: Maintenance) => Promise<Readonly<Record<string, number>>>;
}

export interface Maintenance {
  readonly runtime: Runtime;
  /** Checked between two steps. If it is true, the next maintenance does the rest. */
  readonly isOver: () => boolean;
}

export interface JobHandler extends Omit<PluginHandler, 'run'> {
  /**
   * Throws `permission_denied` if the access rules of the group forbid the job. The operation calls it before it admits a job, and
   * the worker calls it before each execution.
   */
  readonly judge: (job: JobFacts) => void | Promise<void>;
  /**
   * Makes all writes of the job. A worker may execute it again after a crash, a retry or a wait, so each write must be idempotent;
   * a checkpoint saves finished work. Import the code in this function, so that only a worker loads it.
   */
  readonly run: (context: JobContext) => Promise<Json | undefined>;
}

/** The facts of a job that access rules read before its admission and before each execution. */
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

/** The tag of each fact, and the value of the fact in a run without the tag. */
export type FactTags<Facts> = {
  readonly [Name in keyof Facts]: readonly [tag: string, without: Facts[Name]];
};

/**
 * Facts of the request, stored in the tags of the run. A list shows them without reading the payload of each job.
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
