import { beforeDeadline } from '../kernel/deadline.ts';
import { ServiceError } from '../kernel/errors.ts';
import type { Timers } from '../kernel/world.ts';
import type { CredentialHeaders } from './credentials.ts';
import { PrincipalMemory } from './principal-memory.ts';
import type { VerifiedIdentity, WorkloadIdentity } from './workload.ts';

/** What a module of yours exports by default: a class without constructor parameters, or an object with this method. */
export interface IdentityAuthenticator {
  /**
   * The stable name of whoever the request proves to come from, `null` where it carries no credential of this kind. Throw
   * for one that does not hold: whatever is thrown refuses the request, and nothing of it is told.
   */
  authenticate(request: IdentityRequest): Promise<string | null> | string | null;
}

export interface IdentityRequest {
  /**
   * The value of a header, its name in any case. One that the request holds several times reads as absent: whoever sent the
   * second could not be told from whoever sent the first. Where API keys are in use, `Authorization` is an attempt at a key and
   * reads as absent: the identity then comes in `X-Serverless-Authorization`, or another header of yours.
   */
  readonly header: (name: string) => string | undefined;
  /** Aborted when the answer comes too late to count. What goes on regardless keeps one of the places for calls. */
  readonly signal: AbortSignal;
}

/** Throws where the default export of a module is no authenticator, naming what is wrong. */
export function authenticatorFrom(exported: unknown): IdentityAuthenticator {
  const instance = typeof exported === 'function' ? constructed(exported) : exported;
  if (typeof instance !== 'object' || instance === null) {
    throw new Error('the authenticator module has no default export that is a class or an object');
  }
  if (!('authenticate' in instance) || typeof instance.authenticate !== 'function') {
    throw new Error('the authenticator has no method authenticate');
  }
  return instance as IdentityAuthenticator;
}

function constructed(exported: object): unknown {
  const constructor = exported as { new (): unknown; length: number; prototype?: unknown };
  if (constructor.prototype === undefined) throw new Error('the authenticator is a function, not a class');
  if (constructor.length > 0) throw new Error('the constructor of the authenticator has parameters');
  try {
    return new constructor();
  } catch (error) {
    throw new Error('the constructor of the authenticator failed', { cause: error });
  }
}

export interface CustomIdentityOptions {
  readonly authenticator: IdentityAuthenticator;
  readonly timers: Timers;
  /** How long an answer may take, in milliseconds. */
  readonly timeoutMs?: number;
}

/**
 * How many calls may be under way. One that hangs counts until it ends, also after its time, so that those that never end
 * cannot pile up.
 */
const underWayMax = 100;

/**
 * The identity that an authenticator of yours names. It is trusted to say who is calling and with nothing else: what it
 * throws is a refusal (401), and what is slow, no text, or another name for the same headers is not accepted (503).
 */
export function createCustomIdentity(options: CustomIdentityOptions): WorkloadIdentity {
  const { authenticator, timers, timeoutMs = 5000 } = options;
  const memory = new PrincipalMemory();
  let underWay = 0;
  return {
    async identify(headers, { fromAuthorization }): Promise<VerifiedIdentity | null> {
      if (underWay >= underWayMax) throw unavailable();
      const read = new Map<string, string | undefined>();
      const stop = new AbortController();
      const header = headerReader(headers, fromAuthorization, read);
      underWay += 1;
      const ended = (): void => {
        underWay -= 1;
      };
      // In an async function, so that what is thrown at once is treated as what is thrown later.
      const answer = (async (): Promise<unknown> =>
        authenticator.authenticate({ header, signal: stop.signal }))();
      void answer.then(ended, ended);
      const settled = answer.then(principalIn, () => Promise.reject(refused()));
      const principal = await beforeDeadline(timers, timeoutMs, settled, () => {
        // Not at once: who listens may run anything, and must not come before the end of the time is settled.
        queueMicrotask(() => stop.abort());
        return unavailable();
      });
      if (principal === null) return null;
      if (!memory.agrees(read, principal)) throw unavailable();
      return { principal, issuedAt: null };
    },
  };
}

function headerReader(
  headers: CredentialHeaders,
  fromAuthorization: boolean,
  read: Map<string, string | undefined>,
): IdentityRequest['header'] {
  return (name) => {
    const known = name.toLowerCase();
    const hidden = (known === 'authorization' && !fromAuthorization) || headers.repeats?.(known) === true;
    const value = hidden ? undefined : headers.get(known);
    read.set(known, value);
    return value;
  };
}

// Besides controls, what turns the direction of text: a name must not read as another to whoever looks through a log.
const misleading = /[\p{Cc}\p{Bidi_Control}]/u;

/** Bounds what may become the name of an actor, and what would be written to a log. */
function principalIn(answer: unknown): string | null {
  if (answer === null) return null;
  if (typeof answer !== 'string') throw unavailable();
  const usable = answer.trim() !== '' && answer.length <= 254 && !misleading.test(answer);
  if (!usable || !answer.isWellFormed()) throw refused();
  return answer;
}

function refused(): ServiceError {
  return new ServiceError('unauthenticated', 'The credential was not accepted.');
}

function unavailable(): ServiceError {
  return new ServiceError('unavailable', 'The identity of the caller cannot be checked at the moment.');
}
