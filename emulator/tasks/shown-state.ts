import type { JobRun, Scheduler, ShownJob } from '../scheduler.ts';
import type { Faults } from './faults.ts';
import { firstOf } from './lane.ts';
import type { TasksState } from './tasks-state.ts';
import { queueView, taskView } from './wire-view.ts';

const tasksShownMax = 100;

interface Shown {
  readonly state: TasksState;
  readonly faults: Faults;
  readonly scheduler?: Pick<Scheduler, 'jobs'>;
}

export type ShownState = ReturnType<typeof shownState>;

export function shownState({ state, faults, scheduler }: Shown) {
  const lanes = [...state.lanes.values()].sort((left, right) =>
    left.record.name < right.record.name ? -1 : 1,
  );
  return {
    now: new Date(state.now()).toISOString(),
    faults: { switches: faults.switches, struck: faults.struck },
    jobs: scheduler?.jobs().map(jobView) ?? [],
    queues: lanes.map((lane) => ({
      queue: queueView(lane.record),
      /** The share of its rate that remains after its targets reported overload. */
      rateShare: lane.rate.share,
      running: lane.running,
      ready: lane.ready.size,
      taskCount: lane.tasks.size,
      /** The oldest tasks, without their bodies. */
      tasks: firstOf(state.tasks(lane), tasksShownMax).map(({ record }) => ({
        ...taskView(record, 'BASIC'),
        scheduledAt: new Date(record.progress.scheduledAt).toISOString(),
      })),
    })),
  };
}

export function jobView({ job, nextAt, last, ...rest }: ShownJob) {
  const { name, schedule, target, oidc } = job;
  return {
    name,
    schedule,
    target,
    oidc,
    ...rest,
    nextAt: nextAt === null ? null : new Date(nextAt).toISOString(),
    last: last === null ? null : runView(last),
  };
}

export function runView({ dueAt, startedAt, endedAt, ...rest }: JobRun) {
  const [due, started, ended] = [dueAt, startedAt, endedAt].map((at) => new Date(at).toISOString());
  return { ...rest, dueAt: due, startedAt: started, endedAt: ended };
}
