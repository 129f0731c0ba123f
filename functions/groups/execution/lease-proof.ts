import type { BodyJudge } from '../../http/handler.ts';
import type { Caller } from '../../identity/caller.ts';
import { verifiedCaller } from '../../identity/verified-caller.ts';
import { sha256 } from '../../kernel/canonical-json.ts';
import { invalidMember } from '../../kernel/errors.ts';
import { identifier } from '../../kernel/identifiers.ts';
import type { Held } from '../../runs/held.ts';
import { findRun } from '../../runs/read-runs.ts';
import { activeLease, staleLease } from '../../runs/rules/lease.ts';
import type { ExecutionDependencies } from './dependencies.ts';
import { runIdOfLeaseKey } from './wire.ts';

interface Proof {
  readonly leaseKey: string;
  readonly leaseToken: string;
  readonly workerId: string;
}

/** Checks caller and worker. The lease token decides about the run. */
export function heldBy({ access }: ExecutionDependencies, caller: Caller, proof: Proof): Held {
  const workerId = identifier(proof.workerId, '/workerId');
  const runId = runIdOfLeaseKey(proof.leaseKey);
  const tokenHash = sha256(proof.leaseToken);
  if (access === null) {
    if (runId === null) throw staleLease();
    return { runId, workerId, tokenHash };
  }
  const known = verifiedCaller(caller);
  access.authorizeWorker(known, workerId);
  if (runId === null) throw staleLease();
  // Several callers may use one worker id for different runs.
  return { runId, workerId, tokenHash, mayHold: (run) => access.mayLease(known, workerId, run) };
}

const PROOF = ['leaseKey', 'leaseToken', 'workerId'] as const;

/** The proof must be in the first bytes of a body, which is where workers write it. Without a lease the server reads no more. */
const PROOF_BYTES_MAX = 1024 * 1024;

/** Refuses a large body whose sender holds no active lease, before the server reads it to its end. */
export function judgeByLease(dependencies: ExecutionDependencies): BodyJudge {
  return async (beginning, { caller, now }) => {
    const proof = proofIn(beginning);
    if (proof === null) {
      if (beginning.length < PROOF_BYTES_MAX) return false;
      throw invalidMember('/artifact', `must come after ${PROOF.join(', ')} in a body of this size`);
    }
    const held = heldBy(dependencies, caller, proof);
    activeLease(await findRun(dependencies.runtime, held.runId), held, now);
    return true;
  };
}

/** A member with a string value, and the separator before it. */
const TEXT_MEMBER = /\s*[{,]\s*("(?:[^"\\]|\\.)*")\s*:\s*("(?:[^"\\]|\\.)*")/y;

/**
 * The proof, if it comes before all members that are no strings. The server parses and checks the whole body later.
 * @testonly
 */
export function proofIn(beginning: Uint8Array): Proof | null {
  const text = Buffer.from(
    beginning.buffer,
    beginning.byteOffset,
    Math.min(beginning.length, HEAD_BYTES),
  ).toString();
  const found: Partial<Record<string, string>> = {};
  TEXT_MEMBER.lastIndex = 0;
  for (let match = TEXT_MEMBER.exec(text); match !== null; match = TEXT_MEMBER.exec(text)) {
    const [name, value] = [parsed(match[1]), parsed(match[2])];
    if (name === null || value === null) return null;
    found[name] = value;
  }
  const { leaseKey, leaseToken, workerId } = found;
  if (leaseKey === undefined || leaseToken === undefined || workerId === undefined) return null;
  return { leaseKey, leaseToken, workerId };
}

/** More than the length of the three strings of the proof. */
const HEAD_BYTES = 16 * 1024;

function parsed(text: string | undefined): string | null {
  try {
    return JSON.parse(text ?? '') as string;
  } catch {
    return null;
  }
}
