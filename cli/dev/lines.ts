import { release } from '../../functions/release.ts';

/** The texts that `svc dev` shows. */

export interface Shown {
  readonly address: string;
  readonly hasDocs: boolean;
  readonly hasMcp: boolean;
  readonly data: string;
  /** As typed; `null` without a worker. */
  readonly worker: string | null;
  readonly handlerIds: readonly string[] | null;
}

/** The addresses, and three lines to paste. */
export function readyText({ address, hasDocs, hasMcp, data, worker, handlerIds }: Shown): string {
  const rows = [
    ['api', address],
    ...(hasDocs ? [['docs', `${address}/docs`]] : []),
    ...(hasMcp ? [['mcp', `${address}/mcp`]] : []),
    ['data', data],
    ...(worker === null ? [] : [['worker', `${worker}: ${handlersText(handlerIds)}`]]),
  ];
  const json = `-H 'content-type: application/json' -d`;
  const commit = `{"idempotencyKey":"hello-1","mutations":[{"operation":"upsert","document":{"tenantId":"acme","documentType":"note","id":"1","schemaVersion":"1","data":{"text":"hello"}}}]}`;
  const start = `{"handlerId":${JSON.stringify(handlerIds?.[0] ?? 'hello')},"payload":{"name":"Ada"},"waitSeconds":10}`;
  const lines = [
    `${release.service} ${release.version} dev is ready`,
    ...rows.map(([name = '', value = '']) => `  ${name.padEnd(7)} ${value}`),
    '',
    'Commit a document, start a run, look around:',
    `  curl -s ${address}/canonical/tenants/acme/transactions ${json} '${quoted(commit)}'`,
    `  curl -s ${address}/execution/runs ${json} '${quoted(start)}'`,
    `  ${hasDocs ? `open ${address}/docs` : `curl -s ${address}/health`}`,
  ];
  if (worker === null)
    lines.push('', `A run needs a worker: ${release.service} dev worker.ts runs the handlers of a file.`);
  return lines.join('\n');
}

function handlersText(handlerIds: readonly string[] | null): string {
  return handlerIds === null
    ? 'not loaded; it waits for a change'
    : `${handlerIds.join(', ')} (a change reloads it)`;
}

/** In single quotes of a shell. */
function quoted(text: string): string {
  return text.replaceAll("'", `'\\''`);
}
