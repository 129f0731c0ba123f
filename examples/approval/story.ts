import type { ExecutionRun, ExecutionTraceEvent } from '../../sdk/typescript/src/index.ts';
import { SvcClient } from '../../sdk/typescript/src/index.ts';
import type { Decision, Payment, SignedNotice } from './approval.ts';
import type { Books } from './books.ts';
import type { Service } from './service.ts';

/** A payment, its decision, and the expected end of its run. */
interface Case {
  readonly payment: Payment;
  readonly said: Decision | null;
  readonly verdict: Decision['verdict'];
  readonly status: ExecutionRun['status'];
}

const PATIENT_SECONDS = 600;
const END_WITHIN_MS = 600_000;
/** The interval between reads of a run; the service waits that long for its end. */
const LOOK_SECONDS = 0.2;
/** `asked` and `decision`, each stored once. */
const CHECKPOINTS = 2;
/** One refused, one disconnected, one answered. */
const CALLBACKS = 3;

/** The steps of the example and the checks at the end. Throws at the first difference. */
export async function play(service: Service, books: Books, impatientSeconds: number): Promise<void> {
  const client = new SvcClient({ baseUrl: service.address });
  const cases = casesOf(impatientSeconds);
  const runs: [Case, string][] = [];
  for (const each of cases) {
    const { id } = await start(client, each.payment);
    runs.push([each, id]);
    await isWaiting(client, id);
    console.log(
      `${each.payment.order}: run ${id} waits for somebody to approve ${each.payment.cents} cents.`,
    );
  }
  await service.kill();
  console.log('The service was killed (SIGKILL); no process executes the runs.');
  await service.start();
  console.log(`It is started again and answers on ${service.address}.`);
  for (const [{ payment, said }, id] of runs) {
    if (said === null) {
      console.log(`${payment.order}: no decision comes.`);
      continue;
    }
    await client.raiseExecutionEvent(id, { name: 'approval', payload: said });
    console.log(`${payment.order}: ${said.by} says ${said.verdict}.`);
  }
  for (const [each, id] of runs) await showAndCheck(client, books, each, id);
  expectEqual('requests that the books received', books.received.length, CALLBACKS * runs.length);
  expectEqual('decisions that the books took', books.accepted.length, runs.length);
}

/** The impatient payment is last, so that its period does not end before all runs wait. */
function casesOf(impatientSeconds: number): Case[] {
  return [
    {
      payment: { order: 'order-1', cents: 125_000, approvalSeconds: PATIENT_SECONDS },
      said: { verdict: 'approved', by: 'kim' },
      verdict: 'approved',
      status: 'succeeded',
    },
    {
      payment: { order: 'order-2', cents: 980_000, approvalSeconds: PATIENT_SECONDS },
      said: { verdict: 'rejected', by: 'noor' },
      verdict: 'rejected',
      status: 'succeeded',
    },
    {
      payment: { order: 'order-3', cents: 4200, approvalSeconds: impatientSeconds },
      said: null,
      verdict: 'expired',
      status: 'timed_out',
    },
  ];
}

function start(client: SvcClient, payment: Payment) {
  return client.startExecutionRun({
    handlerId: 'payment.approve',
    payload: payment,
    idempotencyKey: `approve-${payment.order}`,
    retryPolicy: { maxAttempts: 5, initialDelaySeconds: 0.5, backoffMultiplier: 2 },
  });
}

async function isWaiting(client: SvcClient, id: string): Promise<void> {
  for (;;) {
    const run = await client.getExecutionRun(id, { waitSeconds: LOOK_SECONDS });
    if (run.currentStep === 'waiting:external_event:approval') return;
    if (run.completedAtUtc !== null) throw new Error(`run ${id} has ended too early, as ${run.status}`);
  }
}

async function showAndCheck(client: SvcClient, books: Books, expected: Case, id: string): Promise<void> {
  const { order } = expected.payment;
  const run = await client.waitForExecutionRun(id, { waitTimeout: END_WITHIN_MS });
  const history = await client.getExecutionRunHistory(id);
  console.log(`\n${order}: ${run.status}${run.error === null ? '' : ` (${run.error})`}`);
  for (const event of history) console.log(`  ${lineOf(event)}`);
  expectEqual(`status of ${order}`, run.status, expected.status);
  checkHistory(order, history);

  const artifacts = await client.listExecutionRunArtifacts(id);
  expectEqual(`artifacts of ${order}`, artifacts.map(({ name }) => name).join(), 'decision');
  const { content } = await client.getExecutionRunArtifact(id, 'decision');
  const notice = books.read(content as unknown as SignedNotice);
  expectEqual(`order of the artifact of ${order}`, notice.order, order);
  expectEqual(`verdict of the artifact of ${order}`, notice.verdict, expected.verdict);
  expectEqual(`who decided on ${order}`, notice.by, expected.said?.by ?? null);
  console.log(`  artifact decision: ${notice.verdict}, and the signature is that of the books`);

  const received = books.received.filter(({ body }) => body.includes(id));
  expectEqual(`requests of ${order}`, received.length, CALLBACKS);
  expectEqual(`keys of ${order}`, [...new Set(received.map(({ key }) => key))].join(), id);
  expectEqual(`decisions of ${order}`, books.accepted.filter(({ body }) => body.includes(id)).length, 1);
  console.log(`  callback: ${received.length} requests with the key ${id}, accepted once`);
}

/** The run ended once, after one wait and two retries, and a new process continued it. */
function checkHistory(order: string, history: readonly ExecutionTraceEvent[]): void {
  const count = (...types: string[]) => history.filter(({ type }) => types.includes(type)).length;
  expectEqual(`ends of ${order}`, count('run.completed', 'run.failed', 'run.rejected'), 1);
  expectEqual(`waits of ${order}`, count('wait.registered'), 1);
  expectEqual(`checkpoints of ${order}`, count('checkpoint.written'), CHECKPOINTS);
  expectEqual(`retries of ${order}`, count('retry.scheduled'), CALLBACKS - 1);
  const workers = new Set(history.flatMap(({ context }) => context['workerId'] ?? []));
  expectEqual(`processes that executed ${order}`, workers.size, 2);
}

/** The details that a reader needs, and the executor. */
const SHOWN = ['name', 'key', 'outcome', 'delaySeconds', 'failureClass', 'error'];

function lineOf({ timestampUtc, type, attempt, details, context }: ExecutionTraceEvent): string {
  const said = SHOWN.flatMap((name) => {
    const value = details?.[name];
    return typeof value === 'string' || typeof value === 'number' ? [`${name}=${value}`] : [];
  });
  if (type === 'run.started') said.push(`by ${context['workerId']}`);
  const [, time = ''] = /T(.*)Z/.exec(timestampUtc) ?? [];
  return [time, `attempt ${attempt}`, type.padEnd(21), ...said].join('  ').trimEnd();
}

function expectEqual(name: string, actual: unknown, expected: unknown): void {
  if (actual !== expected)
    throw new Error(`${name}: ${String(actual)}, but ${String(expected)} was expected`);
}
