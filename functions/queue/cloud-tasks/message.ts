import { hash } from 'node:crypto';
import type { RunMessage } from '../port.ts';

/** Where messages for one handler go. */
export interface WorkerRoute {
  /** `projects/…/locations/…/queues/…`. */
  readonly queue: string;
  readonly url: string;
  /** Whose token the delivery carries; `null` for none. */
  readonly serviceAccountEmail: string | null;
  /** What the token is made for; `null` for the address itself. */
  readonly audience: string | null;
}

/** A task as Cloud Tasks takes it: version 2 of the service, resource `Task`. */
export interface QueueTask {
  readonly name: string;
  /** Absent for at once. */
  readonly scheduleTime?: { readonly seconds: number; readonly nanos: number };
  readonly dispatchDeadline: { readonly seconds: number };
  readonly httpRequest: {
    readonly url: string;
    readonly httpMethod: 'POST';
    readonly headers: Readonly<Record<string, string>>;
    readonly body: Buffer;
    readonly oidcToken?: { readonly serviceAccountEmail: string; readonly audience: string };
  };
}

/** Says that a request is a delivery: whoever serves other requests too can tell them apart. It proves nothing. */
export const DISPATCH_HEADER = 'X-Svc-Execution-Dispatch';

const DAY_MS = 86_400_000;

/**
 * The service takes schedules up to 30 days ahead. What is further away is told of again on the way, at moments counted back from
 * its own, so that whoever tells of it means the same ones; each is at least a day ahead, so that an early delivery of one means
 * the next.
 */
const HOP_MS = 28 * DAY_MS;

export function scheduleOf(notBefore: number, now: number): number {
  const hops = Math.max(0, Math.floor((notBefore - now - DAY_MS) / HOP_MS));
  return notBefore - hops * HOP_MS;
}

/** The most that the service grants: a handler that works longer holds its lease, and a repeated delivery changes nothing. */
const DISPATCH_DEADLINE_SECONDS = 1_800;

/**
 * The task that carries the message. Its name is made of what the message says, so that saying it again is refused by the
 * service and changes nothing; a name that was used stays refused for a time nobody promises, so what is no repetition
 * differs: by the attempt, the moment, or the word that it was given. A hash, since names in a row slow a queue down.
 */
export function taskOf(message: RunMessage, route: WorkerRoute, now: number): QueueTask {
  const later = message.notBefore > now;
  const at = scheduleOf(message.notBefore, now);
  const { runId, reason, attempt, again = '' } = message;
  // Of what comes at once the moment says nothing.
  const moment = later ? String(message.notBefore === at ? at : `${message.notBefore} by ${at}`) : 'now';
  const id = hash('sha256', [runId, reason, attempt, moment, again].join('\n'), 'hex');
  const body = { runId, reason, scheduledAtUtc: later ? new Date(message.notBefore).toISOString() : null };
  const { url, serviceAccountEmail, audience } = route;
  return {
    name: `${route.queue}/tasks/${id}`,
    ...(later ? { scheduleTime: { seconds: Math.floor(at / 1_000), nanos: (at % 1_000) * 1_000_000 } } : {}),
    dispatchDeadline: { seconds: DISPATCH_DEADLINE_SECONDS },
    httpRequest: {
      url,
      httpMethod: 'POST',
      headers: { 'Content-Type': 'application/json', Accept: 'application/json', [DISPATCH_HEADER]: '1' },
      body: Buffer.from(JSON.stringify(body)),
      ...(serviceAccountEmail === null
        ? {}
        : { oidcToken: { serviceAccountEmail, audience: audience ?? url } }),
    },
  };
}
