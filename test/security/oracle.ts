import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { OperationEntry } from '../../contracts/operation.ts';
import type { InjectedResponse } from '../../functions/http/host-inject.ts';
import type { SchemaSet } from './schema-set.ts';

/** The promises of the contract about every answer, to any request. */

interface ProblemCodeEntry {
  readonly code: string;
  readonly status: number;
  readonly title: string;
  readonly retryable: boolean;
}

// Read from the contract itself: the generated table is what the service uses.
const vocabulary = new Map(
  (
    JSON.parse(readFileSync(join(import.meta.dirname, '../../contracts/errors.json'), 'utf8')) as {
      errors: ProblemCodeEntry[];
    }
  ).errors.map((entry) => [entry.code, entry]),
);

/** An answer that the contract does not allow. */
export class BrokenPromise extends Error {
  constructor(rule: string, answer: InjectedResponse) {
    super(`${rule}: ${answer.status} ${answer.body.slice(0, 600)}`);
    this.name = 'BrokenPromise';
  }
}

export type Verdict = { readonly accepted: true } | { readonly accepted: false; readonly code: string };

/**
 * Holds an answer against the contract: an answer of the operation that matches its model, or a problem that the
 * operation names, whose code, status and texts belong together. `alsoAllowed` names problems that lie before the
 * operation, such as `route_not_found` where a path was damaged.
 */
export function judge(
  set: SchemaSet,
  entry: OperationEntry,
  answer: InjectedResponse,
  alsoAllowed: readonly string[] = [],
): Verdict {
  const broken = (rule: string) => new BrokenPromise(`${entry.id}: ${rule}`, answer);
  if (answer.status >= 500) throw broken('answered as broken');
  const correlationId = answer.headers['x-correlation-id'] ?? '';
  if (!/^[A-Za-z0-9._:-]{1,128}$/.test(correlationId)) throw broken('no correlation id');
  if (answer.headers['x-content-type-options'] !== 'nosniff') throw broken('may be sniffed');
  if (answer.status < 400) {
    const fault = answerFault(set, entry, answer);
    if (fault !== null) throw broken(fault);
    return { accepted: true };
  }
  const { code, fault } = problemFault(set, answer, correlationId);
  if (fault !== null) throw broken(fault);
  if (!entry.problems.includes(code) && !alsoAllowed.includes(code))
    throw broken(`the problem ${code} is not declared`);
  return { accepted: false, code };
}

function answerFault(set: SchemaSet, entry: OperationEntry, answer: InjectedResponse): string | null {
  const declared = entry.responses.find(({ status }) => status === answer.status);
  if (declared === undefined) return 'the status is not declared';
  if (declared.mediaType === null) return answer.body === '' ? null : 'a body that is not declared';
  if (answer.headers['content-type'] !== declared.mediaType) return 'another media type than declared';
  if (declared.schema === null) return null;
  const body = parsed(answer);
  return body === undefined ? 'the body is no JSON' : set.fault(declared.schema, body);
}

/** A problem document by RFC 9457 whose members agree with each other, with the header fields and with the contract. */
function problemFault(set: SchemaSet, answer: InjectedResponse, correlationId: string) {
  const fail = (fault: string) => ({ code: '', fault });
  if (answer.headers['content-type'] !== 'application/problem+json')
    return fail('a refusal that is no problem document');
  const body = parsed(answer) as Record<string, unknown> | undefined;
  if (body === undefined) return fail('the problem is no JSON');
  const fault = set.fault('ProblemDetails', body);
  if (fault !== null) return fail(fault);
  const code = String(body['code']);
  const known = vocabulary.get(code);
  if (known === undefined) return fail('an unknown problem code');
  if (known.status !== answer.status || body['status'] !== answer.status)
    return fail('another status than its code has');
  const expected = {
    type: `urn:svc:problem:${code}`,
    title: known.title,
    retryable: known.retryable,
    instance: `urn:svc:request:${correlationId}`,
    correlationId,
  };
  for (const [member, value] of Object.entries(expected)) {
    if (body[member] !== value) return fail(`the member ${member} is not the one of its code or request`);
  }
  return { code, fault: null };
}

function parsed({ body }: InjectedResponse): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
