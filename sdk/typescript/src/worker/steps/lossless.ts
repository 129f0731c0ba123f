import type { JsonValue } from '../../generated/models.ts';

/**
 * The type if JSON holds its values without loss, else another type. `unknown` and `any` pass: the kit checks all values
 * when it has them.
 */
export type Lossless<T> = unknown extends T
  ? T
  : [T] extends [JsonValue]
    ? T
    : T extends string | number | boolean | null | undefined | void
      ? T
      : T extends ((...given: never[]) => unknown) | bigint | symbol
        ? never
        : T extends readonly unknown[]
          ? { readonly [At in keyof T]: Lossless<T[At]> }
          : T extends object
            ? { readonly [Name in keyof T]: Lossless<T[Name]> }
            : never;

/** A handler with the types of its input, its result and its events, which no value carries at run time. */
export interface Invocable<Input, Output, Events = undefined> {
  readonly id: string;
  readonly types?: {
    readonly input: (input: Input) => void;
    readonly output: Output;
    readonly events?: Events;
  };
}
