import type { SvcClient } from '../../client.ts';
import type { CanonicalTransactionRequest, ExecutionRun } from '../../generated/models.ts';
import { machine } from '../../world.ts';
import { contextParts, type RunContext } from '../context.ts';
import type { ChildPort, StepPort } from './ports.ts';

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
      const found = await context.readCheckpoint(key);
      return found === null ? null : found.content;
    },
    async write({ key, content, metadata }) {
      await context.checkpoint(key, content as object, metadata);
    },
    async timer(name, fireAt) {
      await context.waitForTimer(name, { fireAt: new Date(fireAt) });
    },
    async event([name = ''], until) {
      const timeout = until === null ? {} : { timeoutSeconds: Math.max(0, until - now()) / 1_000 };
      const event = await context.waitForExternalEvent(name, timeout);
      return event === null ? null : { name: event.name, payload: event.payload };
    },
    eventsMax: 1,
    ...(parts === undefined ? {} : callsOf(parts.client, run)),
    record: (event) => context.recordEvent(event),
    log: (level, message, error) => parts?.attempt.log(level, message, error),
    context,
  };
}

function callsOf(client: SvcClient, run: ExecutionRun) {
  const children: ChildPort = {
    async start({ handlerId, payload, idempotencyKey }) {
      const { scope, correlationId } = run;
      const request = {
        handlerId,
        payload,
        idempotencyKey,
        correlationId,
        ...(scope === null ? {} : { scope }),
      };
      return (await client.startExecutionRun(request)).id;
    },
    async outcome(runId) {
      const { status, completedAtUtc, result, failureClass, error } = await client.getExecutionRun(runId);
      if (completedAtUtc === null) return null;
      return status === 'succeeded' ? { status, result } : { status, failureClass, error };
    },
  };
  const commit = async (tenantId: string, request: object) =>
    client.commitCanonicalTransaction(tenantId, request as CanonicalTransactionRequest);
  return { children, commit };
}
