import { join } from 'node:path';
import { startCommand } from '../../functions/release.ts';
import { fileNames, type InitAnswers } from './answers.ts';
import { fileNameOf } from './credentials.ts';
import type { NewFile } from './files.ts';

/** The closing text of the command: the files, and the next commands to run. */
export function nextSteps(answers: InitAnswers, files: readonly NewFile[]): string {
  const at = (name: string) => join(answers.out, name);
  const width = Math.max(...files.map(({ name }) => at(name).length));
  const listed = files.map(({ name, purpose, secret }) => {
    return `  ${at(name).padEnd(width)}  ${purpose}${secret ? ' (0600)' : ''}`;
  });
  const steps = answers.functions ? cloudSteps(answers) : embeddedSteps(answers, files);
  return ['Written:', ...listed, '', 'Next:', ...steps.map((step, index) => `  ${index + 1}. ${step}`)].join(
    '\n',
  );
}

function embeddedSteps(answers: InitAnswers, files: readonly NewFile[]): string[] {
  const at = (name: string) => word(join(answers.out, name));
  const { database, connectionString } = answers;
  const steps: string[] = [];
  const sql = database === 'postgresql' || database === 'mysql';
  if (sql && connectionString === null) {
    const example = `CanonicalStore__ConnectionString='${database}://user:password@host/database'`;
    steps.push(`Write ${example} into ${at(fileNames.environment)}, mode 0600.`);
  }
  const load = sql ? `set -a; . ${sourced(join(answers.out, fileNames.environment))}; set +a; ` : '';
  const environment = sql ? ` --env-file ${at(fileNames.environment)}` : '';
  steps.push(
    `svc config check ${at(fileNames.settings)}${environment}`,
    `${load}${startCommand} --settings ${at(fileNames.settings)}`,
  );
  const token = files.find(({ name }) => name.endsWith('.token'));
  if (token === undefined) return [...steps, firstCalls(answers, 'YOUR.token')];
  const renew = `svc identity-token --settings ${at(fileNames.settings)} --principal ${word(answers.principals.app)}`;
  return [
    ...steps,
    ...workerStart(answers, files),
    firstCalls(answers, at(token.name)),
    `${renew}  makes the next token.`,
  ];
}

/** Without a worker the first run stays queued. The names of the programs are those that `svc init --starter` writes. */
function workerStart(answers: InitAnswers, files: readonly NewFile[]): string[] {
  const { folder, handlers, port, workerId, principals, apiKey } = answers;
  const { worker } = principals;
  const token =
    worker === null ? undefined : files.find(({ name }) => name === `${fileNameOf(worker)}.token`);
  if (token === undefined) return [];
  // Absolute: the worker starts in the folder of its program.
  const read = (name: string) => `"$(cat ${word(join(folder, name))})"`;
  const environment = [
    `SVC_BASE_URL=http://127.0.0.1:${port ?? 5220}`,
    `SVC_IDENTITY_TOKEN=${read(token.name)}`,
    ...(apiKey ? [`SVC_API_KEY=${read(fileNames.apiKey)}`] : []),
    // The settings grant the worker this id and no other.
    `WORKER_ID=${word(workerId)}`,
  ].join(' ');
  const ids = handlers.length === 0 ? noHandler : handlers.join(', ');
  return [
    [
      `A worker for ${ids}, in the folder of its program (svc init --starter writes one; its handlers must be these):`,
      `${environment} node start.ts`,
      'or in Python:',
      `${environment} .venv/bin/python worker.py`,
    ].join('\n     '),
  ];
}

const noHandler = 'YOUR_HANDLER';

const missing = ` (no handler is named yet: repeat svc init with --handler ${noHandler} --force)`;

function firstCalls({ tenants, product, handlers, port, apiKey, out }: InitAnswers, token: string): string {
  const tenant = tenants.find((id) => id !== '*') ?? 'acme';
  const key = apiKey ? ` --api-key-file ${word(join(out, fileNames.apiKey))}` : '';
  const server = `--server http://127.0.0.1:${port ?? 5220} --identity-token-file ${token}${key}`;
  const scope = JSON.stringify({ productId: product, tenantId: tenant });
  const run = JSON.stringify({
    handlerId: handlers[0] ?? noHandler,
    payload: {},
    idempotencyKey: 'first',
  });
  const body = `${run.slice(0, -1)},"scope":${scope}}`;
  const commit = JSON.stringify({
    idempotencyKey: 'first',
    outbox: [{ topic: 'hello', key: '1', payload: {} }],
  });
  return [
    `A first commit and a first run${handlers.length > 0 ? '' : missing}:`,
    `svc api commitCanonicalTransaction ${server} --param ${word(`tenantId=${tenant}`)} --body ${word(commit)}`,
    `svc api startExecutionRun ${server} --body ${word(body)}`,
  ].join('\n     ');
}

function cloudSteps({ out, cloud }: InitAnswers): string[] {
  const [settings, environment] = [fileNames.settings, fileNames.environment].map((name) =>
    word(join(out, name)),
  );
  const given = 'Deploy it (docs/deploy.md): settings_json of infra/ is the text of';
  if (cloud === null) return [`svc config check ${settings} --for functions`, `${given} ${settings}.`];
  return [
    `svc config check ${settings} --for functions --env-file ${environment}`,
    `Give every function ${settings} (SVC_SETTINGS names it) and the variables of ${environment}.`,
  ];
}

/** A file that a shell reads by its built-in `.`, which searches PATH for a bare name. */
function sourced(path: string): string {
  return word(path.startsWith('/') ? path : `./${path}`);
}

/** One word of a shell. */
function word(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
