import type { Json } from '../../functions/kernel/canonical-json.ts';
import { definePlugin, type RunContext, RunFailure } from '../../functions/runs/plugin.ts';

/**
 * The plugin: a payment that a person must approve. The run waits for the event `approval`, sends the decision to the
 * books, and stores the signed decision as an artifact. The embedded service and the hosted worker of the cloud
 * execute the same file.
 */
export default definePlugin({
  pluginId: 'approvals',
  name: 'Approvals',
  version: '1.0.0',
  handlers: [{ handlerId: 'payment.approve', displayName: 'Have a payment approved', run: approve }],
});

/** The input of a run. */
export type Payment = { readonly order: string; readonly cents: number; readonly approvalSeconds: number };

/** `expired`: no decision came in time. */
export type Decision = { readonly verdict: 'approved' | 'rejected' | 'expired'; readonly by: string | null };

/** The notice to the books; they answer with its text and their signature. */
export type Notice = Decision & { readonly runId: string; readonly order: string; readonly cents: number };
export type SignedNotice = { readonly text: string; readonly signature: string };

const CALLBACK_TIMEOUT_MS = 10_000;

/** Runs again from its beginning after the wait, a crash or a retry: checkpoints hold the completed steps. */
async function approve(context: RunContext): Promise<Json> {
  const { order, cents, approvalSeconds } = context.payload as Payment;
  // The period starts with the first execution; a later execution keeps its end.
  const { until } = await kept(context, 'asked', async () => ({
    until: Date.now() + approvalSeconds * 1000,
  }));
  const decision = await kept(context, 'decision', () => decide(context, until));
  const signed = await notifyBooks(context, { runId: context.run.id, order, cents, ...decision });
  await context.putArtifact({ name: 'decision', content: signed });
  if (decision.verdict === 'expired') {
    // Not retryable: another attempt would find the same.
    throw new RunFailure('validation', 'No decision came in time', { status: 'timed_out' });
  }
  return decision;
}

/** Ends this execution by throwing, until a decision arrives or the period ends. */
async function decide(context: RunContext, until: number): Promise<Decision> {
  const timeoutSeconds = Math.max(0, until - Date.now()) / 1000;
  const event = await context.waitForExternalEvent('approval', { timeoutSeconds });
  if (event === null) return { verdict: 'expired', by: null };
  const { verdict, by } = event.payload as Decision;
  if ((verdict === 'approved' || verdict === 'rejected') && typeof by === 'string') return { verdict, by };
  throw new RunFailure('validation', 'The event approval says neither approved nor rejected, or not by whom');
}

/**
 * The callback. Its idempotency key is the run's id, the same in every attempt, so the books accept the decision
 * once. A failure that may pass is `transient`, and the run's retry policy sets the time of the next attempt.
 */
async function notifyBooks({ run, signal: stopped }: RunContext, notice: Notice): Promise<SignedNotice> {
  const body = JSON.stringify(notice);
  const headers = { 'content-type': 'application/json', 'idempotency-key': run.id };
  const signal = AbortSignal.any([stopped, AbortSignal.timeout(CALLBACK_TIMEOUT_MS)]);
  let answer: { readonly status: number; readonly text: string };
  try {
    const response = await fetch(callbackAddress(), { method: 'POST', headers, body, signal });
    answer = { status: response.status, text: await response.text() };
  } catch (cause) {
    stopped.throwIfAborted();
    // It is unknown whether the books accepted the notice: the next attempt sends the same key.
    throw new RunFailure('transient', 'The books did not answer', { cause });
  }
  const { status, text } = answer;
  if (status === 200) return JSON.parse(text) as SignedNotice;
  const passing = status === 429 || status >= 500;
  throw new RunFailure(passing ? 'transient' : 'validation', `The books answered with status ${status}`);
}

/**
 * From the operator's configuration, never from the payload: a caller who may start runs must not choose this
 * address.
 */
function callbackAddress(): string {
  const address = process.env['APPROVAL_CALLBACK'];
  if (address !== undefined) return address;
  throw new RunFailure('validation', 'APPROVAL_CALLBACK does not say where the books are');
}

/** Stores the result of `make` as a checkpoint; later executions of the run read it. */
async function kept<T extends Json>(context: RunContext, key: string, make: () => Promise<T>): Promise<T> {
  const known = await context.readCheckpoint(key);
  if (known !== null) return known.content as T;
  const made = await make();
  await context.checkpoint(key, made);
  return made;
}
