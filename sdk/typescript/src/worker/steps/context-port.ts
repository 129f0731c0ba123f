import type { CanonicalTransactionRequest, JsonValue } from '../../generated/models.ts';
import { machine } from '../../world.ts';
import { type ContextParts, contextParts, type RunContext } from '../context.ts';
import { knowsSteps } from '../newer-members.ts';
import { eventOf } from './events.ts';
import type { ChildOutcome, ChildPort, StepPort } from './ports.ts';

/** The calls of steps by the protocol of workers. */
export function contextPort(context: RunContext): StepPort {
  const parts = contextParts(context);
  const { now, random, after } = parts?.world ?? machine;
  const { run, signal } = context;
  return {
    run,
    signal,
    clock: { now, random, after, uuid: () => crypto.randomUUID() },
    async read(key) {
      return (await context.readCheckpoint(key))?.content ?? null;
    },
    async write({ key, content, metadata }) {
      await context.checkpoint(key, content as object, metadata);
    },
    async timer(name, fireAt) {
      await context.waitForTimer(name, { fireAt: new Date(fireAt) });
    },
    event: ([name = ''], until) =>
      context.waitForExternalEvent(
        name,
        until === null ? {} : { timeoutSeconds: Math.max(0, until - now()) / 1_000 },
      ),
    eventsMax: 1,
    record: (event) => context.recordEvent(event),
    log: (level, message, error) => parts?.attempt.log(level, message, error),
    context,
    ...(parts === undefined ? {} : callsOf(parts)),
    ...(parts !== undefined && knowsSteps(parts.attempt.lease) ? newerCallsOf(parts) : {}),
  };
}

type Calls = Pick<StepPort, 'children' | 'commit' | 'isDevelopment' | 'over'>;

function callsOf({ client, attempt }: ContextParts): Calls {
  const { run, showsHandlerErrors } = attempt.lease;
  const { scope, correlationId } = run;
  const children: ChildPort = {
    async start({ cancelWithParent, ...request }) {
      if (cancelWithParent === true)
        throw new TypeError('cancelWithParent needs a server that knows child runs (after release 0.6.0).');
      const more = scope === null ? { correlationId } : { correlationId, scope };
      return (await client.startExecutionRun({ ...request, ...more })).id;
    },
    async outcome(runId) {
      const child = await client.getExecutionRun(runId);
      return child.completedAtUtc === null ? null : child;
    },
  };
  return {
    children,
    commit: async (tenantId, request) =>
      client.commitCanonicalTransaction(tenantId, request as CanonicalTransactionRequest),
    isDevelopment: showsHandlerErrors,
    over: attempt.calls,
  };
}

/** What servers after release 0.6.0 know. */
function newerCallsOf(parts: ContextParts): Partial<StepPort> {
  const { client, attempt, wait } = parts;
  const { run, isLastAttempt, checkpoints = { found: [], absent: [] } } = attempt.lease;
  const { children } = callsOf(parts);
  const given = new Map<string, JsonValue | null>([
    ...checkpoints.absent.map((key) => [key, null] as const),
    ...checkpoints.found.map(({ key, content }) => [key, content] as const),
  ]);
  return {
    run: { ...run, isLastAttempt },
    given,
    async write({ key, content, metadata }, news) {
      const request = {
        ...attempt.proof,
        checkpoint: { key, content: content as object, metadata },
        writeId: attempt.nextWriteId(),
        event: eventOf(news),
      };
      await attempt.call((options) => client.putExternalExecutionLeaseCheckpoint(request, options));
    },
    async event(names, until) {
      const [name = ''] = names;
      return (await wait({ kind: 'external_event', name, names, timeoutAtUtc: dateOf(until) })).event;
    },
    eventsMax: 16,
    children: {
      ...(children as ChildPort),
      async start({ idempotencyKey, ...child }) {
        const request = { ...attempt.proof, writeId: idempotencyKey, child };
        const send = attempt.call((options) => client.startExternalExecutionLeaseChild(request, options));
        return (await send).runId;
      },
      async wait(runId, name, until) {
        const { run: ended } = await wait({ kind: 'run', name, runId, timeoutAtUtc: dateOf(until) });
        if (ended?.resultRemoved !== true) return (ended as ChildOutcome | undefined) ?? null;
        return { ...ended, status: 'removed', error: 'Its result was removed with it' };
      },
    },
    giveBack: () => void attempt.end('stopping'),
  };
}

function dateOf(moment: number | null): string | null {
  return moment === null ? null : new Date(moment).toISOString();
}
