import { hash } from 'node:crypto';
import { DISPATCH_HEADER, type RunMessage } from '../port.ts';

/** Route of the messages for one handler. */
export interface WorkerRoute {
  /** `projects/…/locations/…/queues/…`. */
  readonly queue: string;
  readonly url: string;
  /** The service account of the delivery's token; `null` for none. */
  readonly serviceAccountEmail: string | null;
  /** Audience of the token; `null` for the worker's URL. */
  readonly audience: string | null;
}

/** A task of Cloud Tasks API version 2. */
export interface QueueTask {
  readonly name: string;
  /** Absent for immediate delivery. */
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

const DAY_MS = 86_400_000;

/**
 * Cloud Tasks accepts schedules up to 30 days ahead. A later run gets intermediate deliveries, counted back from its
 * time so that every process computes the same ones. The first is at least a day ahead, so that an early delivery
 * still leads to the next.
 */
const HOP_MS = 28 * DAY_MS;

/** @testonly */
export function scheduleOf(notBefore: number, now: number): number {
  const hops = Math.max(0, Math.floor((notBefore - now - DAY_MS) / HOP_MS));
  return notBefore - hops * HOP_MS;
}

/** The maximum of the service. A handler that works longer keeps its lease, and another delivery has no effect. */
const DISPATCH_DEADLINE_SECONDS = 1_800;

/**
 * Creates the task of a message. Its name is a hash of the message, so Cloud Tasks refuses repetitions. Used names
 * stay refused for an unspecified time, so distinct messages differ by attempt, time or repeat key. A hash, because
 * sequential names slow a queue down.
 */
export function taskOf(message: RunMessage, route: WorkerRoute, now: number): QueueTask {
  const later = message.notBefore > now;
  const at = scheduleOf(message.notBefore, now);
  const { runId, reason, attempt, repeatKey = '' } = message;
  // Immediate messages have no distinguishing time.
  const moment = later ? String(message.notBefore === at ? at : `${message.notBefore} by ${at}`) : 'now';
  const id = hash('sha256', [runId, reason, attempt, moment, repeatKey].join('\n'), 'hex');
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
