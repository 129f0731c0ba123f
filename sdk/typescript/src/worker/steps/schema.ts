/** The part of Standard Schema 1 (standardschema.dev) that the kit uses: schemas of zod, valibot, arktype and others have it. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

export interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** The value as a caller gives it, before the schema changes it. */
export type InputOf<S> = S extends StandardSchema<infer Input, unknown> ? Input : unknown;
/** The value that the schema makes of it. */
export type OutputOf<S> = S extends StandardSchema<unknown, infer Output> ? Output : unknown;

/** The schemas of payloads, by the names of their events. */
export type EventSchemas = Readonly<Record<string, StandardSchema<unknown, unknown>>>;

const ISSUES_MAX = 5;

/** The value as the schema has it. Throws the refusal that is made of a text with pointers. */
export async function validated<T>(
  schema: StandardSchema<unknown, T>,
  value: unknown,
  refusal: (text: string) => Error,
): Promise<T> {
  const result = await schema['~standard'].validate(value);
  if (result.issues === undefined) return result.value;
  const texts = result.issues
    .slice(0, ISSUES_MAX)
    .map(({ message, path = [] }) => `at ${JSON.stringify(pointerOf(path))}: ${message}`);
  throw refusal(`does not fit its schema, ${texts.join('; ')}`);
}

function pointerOf(path: NonNullable<SchemaIssue['path']>): string {
  const keys = path.map((part) => (typeof part === 'object' ? part.key : part));
  return keys.map((key) => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}
