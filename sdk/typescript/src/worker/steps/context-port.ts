import { SvcError } from '../../errors.ts';
import type { CanonicalTransactionRequest, JsonValue } from '../../generated/models.ts';
import { contextParts, type RunContext } from '../context.ts';
import { knowsSteps } from '../newer-members.ts';
import { eventOf } from './events.ts';
import type { ChildOutcome, ChildPort, ChildRequest, StepPort } from './ports.ts';

/** The calls of steps by the protocol of workers. `isNewer`: the server is of a release after 0.6.0. */
export function contextPort(context: RunContext): StepPort {
  const parts = contextParts(context);
  if (parts === undefined) throw new SvcError('A handler with steps needs the context of a worker.');
  const { client, attempt, wait, world } = parts;
  const { lease, proof, calls } = attempt;
  const { run, signal, checkpoint, readCheckpoint, waitForTimer, recordEvent } = context;
  const isNewer = knowsSteps(lease);
  const { found = [], absent = [] } = lease.checkpoints ?? {};
  const start = async ({ cancelWithParent, ...request }: ChildRequest) => {
    if (cancelWithParent === true)
      throw new TypeError('cancelWithParent needs a server that knows child runs (after release 0.6.0).');
    const { correlationId, scope } = run;
    const its = { ...request, correlationId, ...(scope === null ? {} : { scope }) };
    return (await client.startExecutionRun(its)).id;
  };
  const children: ChildPort = {
    start,
    async outcome(runId) {
      const child = await client.getExecutionRun(runId);
      return child.completedAtUtc === null ? null : child;
    },
  };
  const newerChildren: ChildPort = {
    ...children,
    async start({ idempotencyKey, ...child }) {
      const request = { ...proof, writeId: idempotencyKey, child };
      return (await attempt.call((options) => client.startExternalExecutionLeaseChild(request, options)))
        .runId;
    },
    async wait(runId, name, until) {
      const { run: child } = await wait({ kind: 'run', name, runId, timeoutAtUtc: dateOf(until) });
      if (child?.resultRemoved !== true) return (child as ChildOutcome | undefined) ?? null;
      return { ...child, status: 'removed', error: 'Its result was removed with it' };
    },
  };
  return {
    run: isNewer ? { ...run, isLastAttempt: lease.isLastAttempt } : run,
    signal,
    over: calls,
    isDevelopment: lease.showsHandlerErrors,
    clock: { ...world, uuid: () => crypto.randomUUID() },
    given: new Map<string, JsonValue | null>([
      ...absent.map((key) => [key, null] as const),
      ...found.map(({ key, content }) => [key, content] as const),
    ]),
    read: async (key) => (await readCheckpoint(key))?.content ?? null,
    async write({ key, content, metadata }, news) {
      await checkpoint(key, content as object, metadata, isNewer ? eventOf(news) : null);
    },
    async timer(name, fireAt) {
      await waitForTimer(name, { fireAt: new Date(fireAt) });
    },
    async event(names, until) {
      const [name = ''] = names;
      const more = isNewer ? { names } : {};
      return (await wait({ kind: 'external_event', name, timeoutAtUtc: dateOf(until), ...more })).event;
    },
    eventsMax: isNewer ? 16 : 1,
    children: isNewer ? newerChildren : children,
    commit: async (tenantId, request) =>
      client.commitCanonicalTransaction(tenantId, request as CanonicalTransactionRequest),
    ...(isNewer ? { giveBack: () => void attempt.end('stopping') } : {}),
    record: recordEvent,
    log: (level, message, error) => attempt.log(level, message, error),
    context,
  };
}

function dateOf(moment: number | null): string | null {
  return moment === null ? null : new Date(moment).toISOString();
}
