import { table } from '../../functions/config/table.ts';
import { release } from '../../functions/release.ts';
import { openCommand } from './opener.ts';

/** The texts that `svc dev` shows. */

export interface Shown {
  readonly address: string;
  readonly hasDocs: boolean;
  readonly hasMcp: boolean;
  readonly data: string;
  /** As typed; `null` without a worker. */
  readonly worker: string | null;
  readonly handlerIds: readonly string[] | null;
  /** Those of which the service gives the worker no run. */
  readonly unknownIds: readonly string[];
  /** The header of the API key; `null` if the service asks for none. */
  readonly keyHeader: string | null;
  /** The setting that holds the key where the variable of the terminal does not; `null` where the lines work as they are. */
  readonly keySource: string | null;
}

/** The addresses, and three lines to paste. */
export function readyText({
  address,
  hasDocs,
  hasMcp,
  data,
  worker,
  handlerIds,
  unknownIds,
  keyHeader,
  keySource,
}: Shown): string {
  const rows = [
    ['api', address],
    ...(hasDocs ? [['docs', `${address}/docs`]] : []),
    ...(hasMcp ? [['mcp', `${address}/mcp`]] : []),
    ['data', data],
    ...(worker === null ? [] : [['worker', `${worker}: ${handlersText(handlerIds)}`]]),
  ];
  const credential = keyHeader === null ? '' : `-H "${keyHeader}: $SVC_API_KEY" `;
  const json = `${credential}-H 'content-type: application/json' -d`;
  const commit = `{"idempotencyKey":"hello-1","mutations":[{"operation":"upsert","document":{"tenantId":"acme","documentType":"note","id":"1","schemaVersion":"1","data":{"text":"hello"}}}]}`;
  const startable = handlerIds?.find((id) => !unknownIds.includes(id));
  const start = `{"handlerId":${JSON.stringify(startable ?? 'hello')},"payload":{"name":"Ada"},"waitSeconds":10}`;
  const lines = [
    `${release.service} ${release.version} dev is ready`,
    ...rows.map(([name = '', value = '']) => `  ${name.padEnd(7)} ${value}`),
    '',
    ...(keySource === null
      ? []
      : [
          `The next lines read the key of ${keySource} from the terminal. Set it first:`,
          '  export SVC_API_KEY=...',
          '',
        ]),
    ...pastedLines(startable !== undefined, {
      commit: `  curl -s ${address}/canonical/tenants/acme/transactions ${json} '${quoted(commit)}'`,
      start: `  curl -s ${address}/execution/runs ${json} '${quoted(start)}'`,
      look: `  ${hasDocs ? `${openCommand} ${address}/docs` : `curl -s ${address}/health`}`,
    }),
  ];
  return lines.join('\n');
}

/** A start is rejected until a worker has named its handler, so its line comes last where no worker runs. */
function pastedLines(
  hasHandler: boolean,
  { commit, start, look }: Readonly<Record<'commit' | 'start' | 'look', string>>,
): readonly string[] {
  if (hasHandler) return ['Commit a document, start a run, look around:', commit, start, look];
  const remedy = `${release.service} dev worker.ts runs the handlers of a file; a worker of your own runs in another terminal.`;
  return [
    'Commit a document, look around:',
    commit,
    look,
    '',
    `Start a run once a worker has asked. ${remedy}`,
    start,
  ];
}

export function unknownText(handlerIds: readonly string[]): string {
  const { acceptHandlersOfWorkers, externalHandlers } = table.execution;
  return [
    `The service does not know ${handlerIds.join(', ')}, and rejects their starts.`,
    `It adds the handlers of workers where ${acceptHandlersOfWorkers.key} is true, within a bound, and none that begins with "svc.".`,
    `${externalHandlers.key} names handlers without that.`,
  ].join(' ');
}

export function failureText(worker: string, reason: string): string {
  return `${worker} does not run: ${reason}\nThe server runs on, and a change of the file loads it again.`;
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
