import type { ShownState } from './admin.ts';

type ShownQueue = ShownState['queues'][number];
type ShownJob = ShownState['jobs'][number];

const style = `body{font:14px/1.5 system-ui,sans-serif;margin:2rem;max-width:75rem}
h2{font-size:1.1rem;margin:2rem 0 .3rem}table{border-collapse:collapse;width:100%}
th,td{text-align:left;padding:.2rem .8rem .2rem 0;border-bottom:1px solid #ccc;vertical-align:top}
td{overflow-wrap:anywhere}code{font-size:.9em}`;

/** One page without scripts; the browser reloads it. */
export function adminPage({ now, faults, queues, jobs }: ShownState): string {
  const switched = JSON.stringify(faults.switches);
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Cloud Tasks emulator</title><style>${style}</style></head>
<body>
<h1>Cloud Tasks emulator</h1>
<p>At ${text(now)}. Fault switches: <code>${text(switched)}</code>. As JSON: <a href="/state">state</a>, <a href="/faults">faults</a>.</p>
${queues.length === 0 ? '<p>There are no queues.</p>' : queues.map(queueSection).join('\n')}
${jobs.length === 0 ? '' : jobsSection(jobs)}
</body>
</html>
`;
}

function queueSection({ queue, rateShare, running, ready, taskCount, tasks }: ShownQueue): string {
  const share = rateShare === 1 ? '' : `, at ${Math.round(rateShare * 100)} % of its rate`;
  const rows = tasks.map(
    (task) =>
      `<tr><td>${text(task.name?.split('/').at(-1))}</td><td>${text(task.httpRequest?.httpMethod)} ` +
      `${text(task.httpRequest?.url)}</td><td>${text(task.scheduledAt)}</td><td>${text(task.dispatchCount)}</td>` +
      `<td>${text(task.lastAttempt?.responseStatus?.message)}</td></tr>`,
  );
  return `<h2>${text(queue.name)}</h2>
<p>${text(queue.state)}${share}: ${taskCount} tasks, ${ready} due, ${running} under way.</p>
<table><thead><tr><th>Task</th><th>Request</th><th>Scheduled</th><th>Attempts</th><th>Last answer</th></tr></thead>
<tbody>${rows.join('\n')}</tbody></table>`;
}

function jobsSection(jobs: readonly ShownJob[]): string {
  const rows = jobs.map(
    ({ name, schedule, target, nextAt, running, skipped, last }) =>
      `<tr><td>${text(name)}</td><td>${text(schedule)}</td><td>POST ${text(target)}</td>` +
      `<td>${running ? 'now' : text(nextAt)}</td><td>${text(last?.endedAt)} ${text(last?.message)}</td>` +
      `<td>${text(skipped)}</td></tr>`,
  );
  return `<h2>Scheduler jobs</h2>
<p>To run one now: <code>curl -X POST</code> to <code>/scheduler/jobs/NAME:run</code> of this address.</p>
<table><thead><tr><th>Job</th><th>Schedule</th><th>Request</th><th>Next</th><th>Last</th><th>Skipped</th></tr></thead>
<tbody>${rows.join('\n')}</tbody></table>`;
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

function text(value: string | number | null | undefined): string {
  return String(value ?? '').replaceAll(/[&<>"]/g, (character) => entities[character] ?? '');
}
