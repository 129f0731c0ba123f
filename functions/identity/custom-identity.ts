import { beforeDeadline } from '../kernel/deadline.ts';
import { ServiceError } from '../kernel/errors.ts';
import type { Timers } from '../kernel/world.ts';
import type { CredentialHeaders } from './credentials.ts';
import { PrincipalMemory } from './principal-memory.ts';
import type { VerifiedIdentity, WorkloadIdentity } from './workload.ts';

/** The default export of an operator's module: an object with this method, or a class without constructor parameters. */
export interface IdentityAuthenticator {
  /**
   * The stable name of the proven caller, or `null` for a request without a credential of this kind. Throw for an invalid
   * credential: the service refuses the request and reveals nothing of the error.
   */
  authenticate(request: IdentityRequest): Promise<string | null> | string | null;
}

interface IdentityRequest {
  /**
   * The value of a header; its name in any case. A repeated header reads as absent: a proxy and the caller may each have
   * sent one. Where API keys are in use, `Authorization` carries a key and reads as absent: send the identity in
   * `X-Serverless-Authorization` or in a header of your own.
   */
  readonly header: (name: string) => string | undefined;
  /** Aborted when the answer is too late. A call that continues still occupies one of the places for calls. */
  readonly signal: AbortSignal;
}

/** Throws an error that names the fault if the default export of a module is no authenticator. */
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
 * How many calls may be under way. A hanging call counts until it ends, also after its timeout, so that hanging calls
 * cannot pile up.
 */
const underWayMax = 100;

/**
 * The identity that an operator's authenticator names. The service trusts the name alone: an error refuses the request
 * (401); a late answer, an answer that is no text, or another name for the same headers is not accepted (503).
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
      // In an async function, so that a synchronous error becomes a rejection like any other.
      const answer = (async (): Promise<unknown> =>
        authenticator.authenticate({ header, signal: stop.signal }))();
      void answer.then(ended, ended);
      const settled = answer.then(principalIn, () => Promise.reject(refused()));
      const principal = await beforeDeadline(timers, timeoutMs, settled, () => {
        // In a microtask: listeners run foreign code, which must not run before the timeout has settled the call.
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

// Controls, and characters that change the direction of text: in a log, one name must not look like another.
const misleading = /[\p{Cc}\p{Bidi_Control}]/u;

/** Bounds the name, because commits and logs store it as the actor. */
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
