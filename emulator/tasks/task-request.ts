import type { protos } from '@google-cloud/tasks';
import { isLoopbackHost } from '../../functions/http/loopback-host.ts';
import type { TargetRequest } from './model.ts';
import { CallRefusal, invalid } from './refusal.ts';
import { msOfDuration, msOfTimestamp } from './wire-time.ts';

/** Validates the HTTP request of a task as Cloud Tasks does. */

export type WireTask = protos.google.cloud.tasks.v2.ITask;
type WireHttpRequest = protos.google.cloud.tasks.v2.IHttpRequest;

const taskBytesMax = 1024 * 1024;
const headerBytesLimit = 80 * 1024;
const urlLengthMax = 2083;
const scheduledAheadMsMax = 30 * 86_400_000;
const deadlineMsMin = 15_000;
const deadlineMsMax = 30 * 60_000;
export const dispatchDeadlineMsDefault = 10 * 60_000;

const methods = new Set(['POST', 'GET', 'HEAD', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']);
const methodsWithBody = new Set(['POST', 'PUT', 'PATCH']);

export function targetRequestOf(task: WireTask): TargetRequest {
  if (task.appEngineHttpRequest)
    throw new CallRefusal('unimplemented', 'The emulator has no App Engine: it takes HTTP targets only.');
  const given = task.httpRequest;
  if (!given) throw invalid('Task.httpRequest is required.');
  const method = methodOf(given);
  const body = given.body instanceof Uint8Array && given.body.byteLength > 0 ? given.body : null;
  if (body !== null && !methodsWithBody.has(method))
    throw invalid(`HttpRequest.body is allowed with POST, PUT and PATCH only, not with ${method}.`);
  const request: TargetRequest = {
    url: urlOf(given.url ?? ''),
    method,
    headers: headersOf(given.headers ?? {}),
    body,
    oidcToken: oidcTokenOf(given),
    dispatchDeadlineMs: deadlineOf(task),
  };
  if (bytesOf(request) > taskBytesMax)
    throw invalid(`The task is larger than ${taskBytesMax} bytes, the most that a task may have.`);
  return request;
}

/** Now, if no time is given or it has passed. */
export function scheduledAtOf({ scheduleTime }: WireTask, now: number): number {
  if (!scheduleTime) return now;
  const at = msOfTimestamp(scheduleTime, 'Task.scheduleTime');
  if (at - now > scheduledAheadMsMax) throw invalid('Task.scheduleTime is more than 30 days in the future.');
  return Math.max(now, at);
}

function methodOf({ httpMethod }: WireHttpRequest): string {
  const method = httpMethod ?? 'HTTP_METHOD_UNSPECIFIED';
  if (method === 'HTTP_METHOD_UNSPECIFIED') return 'POST';
  if (typeof method === 'string' && methods.has(method)) return method;
  throw invalid(`HttpRequest.httpMethod ${method} is not known.`);
}

function urlOf(text: string): string {
  if (text === '') throw invalid('HttpRequest.url is required.');
  if (!/^https?:\/\//i.test(text)) throw invalid('HttpRequest.url must begin with http:// or https://.');
  const url = URL.parse(text);
  if (url === null) throw invalid('HttpRequest.url is not a URL.');
  if (url.href.length > urlLengthMax)
    throw invalid(`HttpRequest.url is longer than ${urlLengthMax} characters after encoding.`);
  if (!isLoopbackHost(url.host))
    throw new CallRefusal(
      'failedPrecondition',
      `The emulator sends to this machine only (localhost, 127.0.0.0/8, ::1), and ${url.host} is another.`,
    );
  return text;
}

function headersOf(given: Readonly<Record<string, string>>): Record<string, string> {
  // Without a prototype, so that a field may have any name.
  const headers = Object.assign(Object.create(null) as Record<string, string>, given);
  let bytes = 0;
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name))
      throw invalid(`HttpRequest.headers has ${JSON.stringify(name)}, which is not a field name.`);
    // Visible Latin-1 characters, spaces and tabs (RFC 9110 section 5.5): nothing can start another field.
    if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value))
      throw invalid(`HttpRequest.headers has a value of ${JSON.stringify(name)} that no field can have.`);
    bytes += Buffer.byteLength(name) + Buffer.byteLength(value);
  }
  if (bytes >= headerBytesLimit)
    throw invalid(`HttpRequest.headers must have less than ${headerBytesLimit} bytes.`);
  return headers;
}

function oidcTokenOf({ oidcToken, oauthToken, url }: WireHttpRequest): TargetRequest['oidcToken'] {
  if (oauthToken)
    throw new CallRefusal(
      'unimplemented',
      'The emulator makes no OAuth tokens, which are for Google APIs; oidcToken works.',
    );
  if (!oidcToken) return null;
  const email = oidcToken.serviceAccountEmail ?? '';
  if (!/^[^\s@]{1,64}@[^\s@]{1,189}$/.test(email))
    throw invalid('OidcToken.serviceAccountEmail must be the address of a service account.');
  return { serviceAccountEmail: email, audience: oidcToken.audience || (url ?? '') };
}

function deadlineOf({ dispatchDeadline }: WireTask): number | null {
  if (!dispatchDeadline) return null;
  const ms = Math.floor(msOfDuration(dispatchDeadline, 'Task.dispatchDeadline'));
  if (ms < deadlineMsMin || ms > deadlineMsMax)
    throw invalid('Task.dispatchDeadline must be from 15 seconds to 30 minutes.');
  return ms;
}

function bytesOf({ url, headers, body, oidcToken }: TargetRequest): number {
  const texts = [url, ...Object.entries(headers).flat()];
  if (oidcToken !== null) texts.push(oidcToken.serviceAccountEmail, oidcToken.audience);
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text), body?.byteLength ?? 0);
}
