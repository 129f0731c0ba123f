import { limits } from '../../../contracts/generated/limits.ts';
import type { ExecutionExternalWorkerWaitRequest } from '../../../contracts/generated/models.ts';
import { invalidMember } from '../../kernel/errors.ts';
import { checkJson } from '../../kernel/json-bytes.ts';
import { checkMoment } from '../../runs/checks.ts';
import type { WaitIdentity } from '../../runs/run.ts';
import { checkName, distinctNames } from '../../runs/text-checks.ts';
import { writeNameOf } from './write-name.ts';

type WaitBody = ExecutionExternalWorkerWaitRequest;

/** Checks the request of a worker for a wait. */
export function waitRequestOf(body: WaitBody, now: number, payloadBytesMax: number) {
  const payload = body.payload ?? null;
  const bytes = checkJson(payload, payloadBytesMax, '/payload');
  const identity = identityIn(body);
  const { kind, name, names } = identity;
  const dueAt = dueAtOf(body, now);
  // Without several names the hash is that of earlier releases: a repeat may reach either.
  const named = names === undefined ? { kind, name } : { kind, names };
  const write = writeNameOf(body.waitId, () => ({ ...named, dueAt, payload }), '/waitId');
  return { ...identity, dueAt, payload, bytes, write };
}

function identityIn({ kind, name: given, names }: WaitBody): WaitIdentity {
  const name = checkName(given, '/name');
  if (names === undefined || names === null) return { kind, name };
  if (kind === 'timer') throw invalidMember('/names', 'must be left out when waiting for a time');
  const all = distinctNames(names, limits.executionWaitNamesMax, '/names');
  if (!all.includes(name)) throw invalidMember('/names', 'must have name among them');
  return all.length === 1 ? { kind, name } : { kind, name, names: all.toSorted() };
}

/** A timer needs a time; an event may have a deadline only. */
function dueAtOf({ kind, fireAtUtc, timeoutAtUtc }: WaitBody, now: number): number | null {
  if (kind === 'timer') {
    if (fireAtUtc === undefined || fireAtUtc === null)
      throw invalidMember('/fireAtUtc', 'is needed for a timer');
    return checkMoment(fireAtUtc, now, '/fireAtUtc');
  }
  if (fireAtUtc !== undefined && fireAtUtc !== null) {
    throw invalidMember('/fireAtUtc', 'must be left out when waiting for an event');
  }
  return timeoutAtUtc === undefined || timeoutAtUtc === null
    ? null
    : checkMoment(timeoutAtUtc, now, '/timeoutAtUtc');
}
