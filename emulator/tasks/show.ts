import type { ShownState } from './shown-state.ts';

/** The state of a running emulator as lines. Throws an Error if no emulator answers. */
export async function showState(adminUrl: string): Promise<string> {
  let answer: Response;
  try {
    answer = await fetch(`${adminUrl}/state`);
  } catch (error) {
    throw new Error(`No emulator answers at ${adminUrl}; ADMIN_PORT names another port.`, { cause: error });
  }
  if (!answer.ok) throw new Error(`${adminUrl}/state answers ${answer.status}.`);
  return stateText((await answer.json()) as ShownState);
}

function stateText({ queues, jobs }: ShownState): string {
  const lines = [
    ...queues.flatMap(({ queue, taskCount, ready, running, tasks }) => [
      `${queue.name}  ${queue.state}  ${taskCount} tasks, ${ready} due, ${running} under way`,
      ...tasks.map(({ name, httpRequest, scheduledAt, dispatchCount, lastAttempt }) => {
        const last = lastAttempt?.responseStatus?.message;
        const tried = `${dispatchCount} attempts${last ? `, ${last}` : ''}`;
        return `  ${name?.split('/').at(-1)}  ${httpRequest?.httpMethod} ${httpRequest?.url}  ${scheduledAt}  ${tried}`;
      }),
      ...(taskCount > tasks.length ? [`  and ${taskCount - tasks.length} more`] : []),
    ]),
    ...jobs.map(({ name, schedule, running, nextAt, last }) => {
      const next = running ? 'runs now' : `next ${nextAt ?? 'never'}`;
      return `job ${name}  ${schedule}  ${next}  ${last === null ? 'not run yet' : `${last.endedAt} ${last.message}`}`;
    }),
  ];
  return lines.length === 0 ? 'There are no queues and no jobs.' : lines.join('\n');
}
