import type { Json } from '../../functions/kernel/canonical-json.ts';
import { definePlugin, type RunContext, RunFailure } from '../../functions/runs/plugin.ts';

/**
 * The plugin: a payment that somebody has to approve. The run asks, waits for the event `approval`, tells the books what
 * was decided, and leaves the decision, signed by the books, as an artifact.
 *
 * The same file is executed by the embedded service and by the hosted worker of the cloud.
 */
export default definePlugin({
  pluginId: 'approvals',
  name: 'Approvals',
  version: '1.0.0',
  handlers: [{ handlerId: 'payment.approve', displayName: 'Have a payment approved', run: approve }],
});

/** What a run is started with. */
export type Payment = { readonly order: string; readonly cents: number; readonly approvalSeconds: number };

/** `expired`: nobody has decided in time. */
export type Decision = { readonly verdict: 'approved' | 'rejected' | 'expired'; readonly by: string | null };

/** What is told to the books; they answer with its text and their signature. */
export type Notice = Decision & { readonly runId: string; readonly order: string; readonly cents: number };
export type SignedNotice = { readonly text: string; readonly signature: string };

const CALLBACK_TIMEOUT_MS = 10_000;

/** Executed again from its beginning after the wait, a crash or a retry: what it has done by then is in checkpoints. */
async function approve(run: RunContext): Promise<Json> {
  const { order, cents, approvalSeconds } = run.payload as Payment;
  // The time begins when the run first asks, and does not begin anew when another process goes on.
  const { until } = await kept(run, 'asked', async () => ({ until: Date.now() + approvalSeconds * 1000 }));
  const decision = await kept(run, 'decision', () => decide(run, new Date(until)));
  const signed = await tellBooks(run, { runId: run.runId, order, cents, ...decision });
  await run.putArtifact({ name: 'decision', content: signed });
  if (decision.verdict === 'expired') {
    // Of a class that is not tried again: another attempt would find the same.
    throw new RunFailure('validation', 'Nobody decided in time', { status: 'timed_out' });
  }
  return decision;
}

/** Ends this execution, by throwing, until somebody has decided or the time is over. */
async function decide(run: RunContext, until: Date): Promise<Decision> {
  const event = await run.waitForExternalEvent('approval', { timeoutAt: until });
  if (event === null) return { verdict: 'expired', by: null };
  const { verdict, by } = event.payload as Decision;
  if ((verdict === 'approved' || verdict === 'rejected') && typeof by === 'string') return { verdict, by };
  throw new RunFailure('validation', 'The event approval says neither approved nor rejected, or not by whom');
}

/**
 * The callback. The run's id is its idempotency key: the same in every attempt, so the books take the decision once, however
 * often they are told. What may be over soon is `transient`, and the retry policy of the run says when it is tried again.
 */
async function tellBooks(run: RunContext, notice: Notice): Promise<SignedNotice> {
  const body = JSON.stringify(notice);
  const headers = { 'content-type': 'application/json', 'idempotency-key': run.runId };
  const signal = AbortSignal.any([run.signal, AbortSignal.timeout(CALLBACK_TIMEOUT_MS)]);
  let answer: { readonly status: number; readonly text: string };
  try {
    const response = await fetch(callbackAddress(), { method: 'POST', headers, body, signal });
    answer = { status: response.status, text: await response.text() };
  } catch (cause) {
    run.signal.throwIfAborted();
    // Whether the books have taken it is not known: the next attempt asks with the same key.
    throw new RunFailure('transient', 'The books did not answer', { cause });
  }
  const { status, text } = answer;
  if (status === 200) return JSON.parse(text) as SignedNotice;
  const passing = status === 429 || status >= 500;
  throw new RunFailure(passing ? 'transient' : 'validation', `The books answered with status ${status}`);
}

/** Of the operator, never of the payload: whoever may start runs must not choose whom the service calls. */
function callbackAddress(): string {
  const address = process.env['APPROVAL_CALLBACK'];
  if (address !== undefined) return address;
  throw new RunFailure('validation', 'APPROVAL_CALLBACK does not say where the books are');
}

/** What `make` answers is written down, and read by every later execution of the run. */
async function kept<T extends Json>(run: RunContext, key: string, make: () => Promise<T>): Promise<T> {
  const known = await run.readCheckpoint(key);
  if (known !== null) return known.content as T;
  const made = await make();
  await run.writeCheckpoint(key, made);
  return made;
}
