import type {
  CanonicalTransactionRequest,
  CanonicalTransactionResult,
  JsonValue,
} from '../../generated/models.ts';
import type { RunContext } from '../context.ts';
import type { ChildOptions } from './children.ts';
import type { Duration } from './durations.ts';
import type { Invocable, Lossless } from './lossless.ts';
import type { StepName } from './names.ts';
import type { OutputOf, StandardSchema } from './schema.ts';
import type { StepCodec, StepOptions, StepWork } from './steps.ts';

/** The operations of a handler with steps. Results are found by their names in the next execution, in any order. */
export interface Steps<Events = undefined> {
  /** Works once, and keeps the result. The next execution gets the result, and does not work again. */
  readonly step: StepCall;
  /** A transaction of the canonical store, exactly once. Its receipt keeps the result. */
  readonly commit: (
    name: StepName,
    tenantId: string,
    request: Omit<CanonicalTransactionRequest, 'idempotencyKey'>,
  ) => Promise<CanonicalTransactionResult>;
  /** Parks the run: for a time from the first execution on, or until a moment. */
  readonly sleep: (name: StepName, time: Duration | { readonly until: Date }) => Promise<void>;
  /** The payload of an event of this name, or `null` after the timeout. */
  readonly waitForEvent: [keyof Events] extends [never] ? EventCall : NamedEventCall<Events> & EventCall;
  /** Starts a run of another handler, waits for its end and gives its result. Throws `StepFailed` if it does not succeed. */
  readonly invoke: <Input, Output>(
    name: StepName,
    handler: Invocable<Input, Output>,
    input: NoInfer<Input>,
    options?: ChildOptions,
  ) => Promise<Output>;
  /** Starts a run of another handler, and gives its id. */
  readonly start: <Input>(
    name: StepName,
    handler: Invocable<Input, unknown>,
    input: NoInfer<Input>,
    options?: ChildOptions,
  ) => Promise<string>;
  /** Branches side by side. Rejects with the first error. */
  readonly all: <const Works extends readonly (() => unknown)[]>(
    works: Works,
  ) => Promise<{ -readonly [At in keyof Works]: Awaited<ReturnType<Works[At]>> }>;
  /** The result of the branch that ends first. The others end. */
  readonly race: <const Works extends readonly (() => unknown)[]>(
    works: Works,
    name?: StepName,
  ) => Promise<Awaited<ReturnType<Works[number]>>>;
  /** A branch for each item, at most `concurrency` at a time; 16 if absent. Name the steps by the item. */
  readonly map: <Item, Result>(
    items: readonly Item[],
    options: { readonly concurrency?: number },
    work: (item: Item, index: number) => Result,
  ) => Promise<Awaited<Result>[]>;
  /** The time in milliseconds, the same in each execution. Parallel branches give names. */
  readonly now: (name?: StepName) => Promise<number>;
  /** The same in each execution. */
  readonly uuid: (name?: StepName) => Promise<string>;
  /** From 0 to 1, the same in each execution. */
  readonly random: (name?: StepName) => Promise<number>;
  /** Whether this run takes the changed way: not if it has results from beyond this place. The answer stays. */
  readonly since: (change: string) => Promise<boolean>;
  /** The version of the definition that began the run. */
  readonly version: string;
  readonly run: RunContext['run'];
  /** Aborted when the handler must stop. */
  readonly signal: AbortSignal;
  readonly log: (level: 'info' | 'warning', message: string, error?: unknown) => void;
  /** The calls of the protocol beneath. Checkpoint keys that begin with `svc.step` are those of the journal. */
  readonly context: RunContext;
}

/** A name, and names that the step had before. */
export interface RenamedStep {
  readonly name: StepName;
  readonly was: readonly string[];
}

export interface StepCall {
  <T>(
    name: StepName | RenamedStep,
    work: (its: StepWork) => T,
    options: Omit<StepOptions<Awaited<T>>, 'was' | 'codec'> & { readonly codec: StepCodec<Awaited<T>> },
  ): Promise<Awaited<T>>;
  <T>(
    name: StepName | RenamedStep,
    work: (its: StepWork) => T & (Awaited<T> extends Lossless<Awaited<T>> ? unknown : NotJson),
    options?: Omit<StepOptions<Awaited<T>>, 'was' | 'codec'>,
  ): Promise<Awaited<T>>;
}

/** JSON cannot hold the result without loss. Return plain values, or give a codec. */
interface NotJson {
  readonly 'JSON would change the result of this step': never;
}

/** Waits for an event that the definition of the handler names. */
export interface NamedEventCall<Events> {
  <Name extends keyof Events & string>(
    name: Name,
    options: { readonly timeout: Duration },
  ): Promise<OutputOf<Events[Name]> | null>;
  <Name extends keyof Events & string>(name: Name): Promise<OutputOf<Events[Name]>>;
}

export interface EventCall {
  <Schema extends StandardSchema<unknown, unknown>>(
    name: StepName,
    options: { readonly timeout: Duration; readonly schema: Schema; readonly event?: string },
  ): Promise<OutputOf<Schema> | null>;
  <Schema extends StandardSchema<unknown, unknown>>(
    name: StepName,
    options: { readonly schema: Schema; readonly event?: string },
  ): Promise<OutputOf<Schema>>;
  (name: StepName, options?: { readonly timeout?: Duration; readonly event?: string }): Promise<JsonValue>;
}
