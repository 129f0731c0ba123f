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
 * A generated check of one model. It stops at the first fault. If it reports several (the branches of a nullable
 * member), use the first. The next call overwrites `errors`, so read it at once.
 */
export interface Validator<T = unknown> {
  (value: unknown): value is T;
  readonly errors?: readonly ValidatorFault[] | null;
}
