import type { ShownState } from './shown-state.ts';

type ShownQueue = ShownState['queues'][number];
type ShownJob = ShownState['jobs'][number];

const columns = {
  tasks: ['Task', 'Request', 'Scheduled', 'Attempts', 'Last answer'],
  jobs: ['Job', 'Schedule', 'Request', 'Next', 'Last', 'Skipped'],
} as const;

const labels = Object.entries(columns).flatMap(([name, titles]) =>
  titles.map((title, at) => `.${name} td:nth-child(${at + 1})::before{content:"${title}: "}`),
);

/** On a phone each row is a card, and every cell names its column. */
const style = `:root{color-scheme:light dark;--line:#ccc;--soft:#555;--link:#0b57d0}
@media (prefers-color-scheme:dark){:root{--line:#444;--soft:#aaa;--link:#8ab4f8}}
body{font:14px/1.5 system-ui,sans-serif;margin:2rem auto;padding:0 1rem;max-width:75rem}
a{color:var(--link)}h1{font-size:1.5rem}h2{font-size:1.1rem;margin:2rem 0 .3rem}
h2,p,td{overflow-wrap:anywhere}code{font-size:.9em}
table{border-collapse:collapse;width:100%}
th,td{text-align:left;padding:.2rem .8rem .2rem 0;border-bottom:1px solid var(--line);vertical-align:top}
@media (max-width:45rem){
body{margin:1rem auto}thead{display:none}table,tbody,tr,td{display:block}
tr{border:1px solid var(--line);border-radius:.4rem;margin:.5rem 0;padding:.3rem .6rem}
td{border:0;padding:.1rem 0}td::before{color:var(--soft)}td:empty{display:none}
${labels.join('')}}`;

/** One page without scripts; the browser reloads it. */
export function adminPage({ now, faults, queues, jobs }: ShownState): string {
  const switched = JSON.stringify(faults.switches);
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark"><title>Cloud Tasks emulator</title><style>${style}</style></head>
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
  const rows = tasks.map(({ name, httpRequest, scheduledAt, dispatchCount, lastAttempt }) => [
    name?.split('/').at(-1),
    `${httpRequest?.httpMethod ?? ''} ${httpRequest?.url ?? ''}`,
    scheduledAt,
    dispatchCount,
    lastAttempt?.responseStatus?.message,
  ]);
  return `<h2>${text(queue.name)}</h2>
<p>${text(queue.state)}${share}: ${taskCount} tasks, ${ready} due, ${running} under way.</p>
${table('tasks', rows)}`;
}

function jobsSection(jobs: readonly ShownJob[]): string {
  const rows = jobs.map(({ name, schedule, target, nextAt, running, skipped, last }) => [
    name,
    schedule,
    `POST ${target}`,
    running ? 'now' : nextAt,
    last === null ? null : `${last.endedAt} ${last.message}`,
    skipped,
  ]);
  return `<h2>Scheduler jobs</h2>
<p>To run one now: <code>curl -X POST</code> to <code>/scheduler/jobs/NAME:run</code> of this address.</p>
${table('jobs', rows)}`;
}

type Cell = string | number | null | undefined;

function table(name: keyof typeof columns, rows: readonly (readonly Cell[])[]): string {
  if (rows.length === 0) return '';
  const head = columns[name].map((title) => `<th>${title}</th>`).join('');
  const body = rows.map((row) => `<tr>${row.map((cell) => `<td>${text(cell)}</td>`).join('')}</tr>`);
  return `<table class="${name}"><thead><tr>${head}</tr></thead>\n<tbody>${body.join('\n')}</tbody></table>`;
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

function text(value: Cell): string {
  return String(value ?? '').replaceAll(/[&<>"]/g, (character) => entities[character] ?? '');
}
