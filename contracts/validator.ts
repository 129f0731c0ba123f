/** One finding of a validator, as ajv reports it. Holds no value of the instance. */
export interface ValidatorFault {
  /** JSON Pointer (RFC 6901) of the refused value. */
  readonly instancePath: string;
  readonly schemaPath: string;
  readonly keyword: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly message?: string;
}

/**
 * A generated check of one model. Stops at the first fault; where several are reported (the branches of a nullable
 * member), the first is the one to tell. `errors` is overwritten by the next call, so read it at once.
 */
export interface Validator<T = unknown> {
  (value: unknown): value is T;
  readonly errors?: readonly ValidatorFault[] | null;
}
