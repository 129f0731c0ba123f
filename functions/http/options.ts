import type { OperationEntry } from '../../contracts/operation.ts';
import type { Validator } from '../../contracts/validator.ts';
import type { Authenticator } from '../identity/authenticator.ts';
import type { Authorizer } from '../identity/authorizer.ts';
import type { Log } from '../kernel/log.ts';
import type { World } from '../kernel/world.ts';
import type { Answer } from './answer.ts';
import type { BodyPolicy } from './body-time.ts';
import type { BytesInFlightLimits } from './bytes-in-flight.ts';
import type { RequestLoad } from './class-line.ts';
import type { CorsSettings } from './cors.ts';
import type { CallContext, JudgesBodies } from './handler.ts';
import type { HeaderLimits } from './headers.ts';
import type { RateLimitSettings } from './rate-limit.ts';

/** The validators of one group of operations, as `contracts/generated/validators` exports them. */
export interface GroupValidators {
  /** By operation id. */
  readonly requestValidators: Readonly<Record<string, Validator>>;
  /** By operation id, colon, status. */
  readonly responseValidators: Readonly<Record<string, Validator>>;
}

/** The handlers of all groups by operation id; `GroupHandlers` checks each group's handlers against the contract. */
export type HandlerMap = Readonly<
  Record<string, ((input: never, context: CallContext) => Promise<Answer>) & JudgesBodies>
>;

/** The parts of a call, in process or over HTTP. */
export interface CallOptions {
  /** The operations to serve. Creating the call throws for an operation without a handler. */
  readonly operations: Readonly<Record<string, OperationEntry>>;
  readonly handlers: HandlerMap;
  /** By group. A group's validators load with its first call, so that a function loads only its own. */
  readonly validators: Readonly<Record<string, () => Promise<GroupValidators>>>;
  readonly world: Pick<World, 'clock' | 'random' | 'timers' | 'turns'>;
  readonly authorizer: Authorizer;
  /** Receives each failure of a call. */
  readonly sawFailure?: (error: unknown) => void;
  /** Checks every answer against its model: for tests and Development. */
  readonly validateResponses?: boolean;
}

/** The parts of the HTTP chain beside the call. */
export interface ChainOptions extends CallOptions {
  readonly authenticator: Authenticator;
  readonly log: Log;
  /** The permits of each source address in each rate class; `null` for no limit. */
  readonly rateLimit: RateLimitSettings | null;
  /** By rate class, for classes with permits of their own. */
  readonly rateLimits?: Readonly<Record<string, RateLimitSettings>>;
  /** Rate classes of routes beside the operations. */
  readonly rateClasses?: readonly string[];
  /** The delay of rate-limit refusals to an address that keeps sending after several. */
  readonly refusalDelayMs?: number;
  readonly trustedProxyHops?: number;
  readonly cors?: CorsSettings;
  readonly headerLimits?: HeaderLimits;
  /** Refuses callers that address this machine by a foreign host name, where reaching it is the only credential. */
  readonly loopbackHostsOnly?: boolean;
  /**
   * Refuses changes by pages of other origins than those of `cors`, when the server has no credential to distinguish
   * them from the user.
   */
  readonly refuseForeignOrigins?: boolean;
  /** Header fields that may occur once beside the known ones, in lower case: a configured API key header. */
  readonly singleHeaders?: readonly string[];
  readonly bodyPolicy?: BodyPolicy;
  /** The largest request body that the platform in front carries, where that is less than an operation allows. */
  readonly messageBytesMax?: number | null;
  /** The memory that bodies and answers under way may hold; without it there is no bound. */
  readonly bytesInFlight?: BytesInFlightLimits;
  /** Without this member no request waits for another, and the load refuses none. */
  readonly overload?: OverloadOptions;
}

interface OverloadOptions {
  /** The most requests at work; further ones wait in a line, and are refused when it is too long. */
  readonly atWorkMax: number;
  /** `null`: requests of the operation are always served. */
  readonly loadOf: (entry: OperationEntry) => RequestLoad | null;
  /** Whether a request for this target may be one that is served before others. */
  readonly mayBeServedFirst: (target: string) => boolean;
}
