import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The published schema of the provider `google` 7.45, for the resources that `infra/` uses. `schema/*.json` holds it as
 * data: an attribute is a type with `!` where it is required, `=` where only the provider sets it, `?` where either may.
 */
export interface BlockSchema {
  /** How often the block may stand in its parent; 0 is no limit. */
  readonly min?: number;
  readonly max?: number;
  /** The order of such blocks means nothing. */
  readonly set?: true;
  readonly attributes?: Readonly<Record<string, string>>;
  readonly blocks?: Readonly<Record<string, BlockSchema>>;
}

export type Schemas = Readonly<Record<string, BlockSchema>>;

const folder = join(import.meta.dirname, 'schema');
const read = (name: string): Schemas =>
  JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8')) as Schemas;

export const resourceSchemas: Schemas = Object.assign(
  {},
  ...['address', 'data', 'functions', 'project'].map(read),
) as Schemas;
export const dataSourceSchemas: Schemas = read('data-sources');

export interface AttributeSchema {
  /** A type of Terraform in JSON: `"string"`, `["map","string"]`. */
  readonly type: unknown;
  readonly required: boolean;
  readonly optional: boolean;
  readonly computed: boolean;
}

export function attributeOf(text: string): AttributeSchema {
  const [, whole, inner, mark] = /^(?:(?:(\w+)\((\w+)\))|\w+)([!?=]?)$/.exec(text) ?? [];
  const type = whole === undefined ? text.replace(/[!?=]$/, '') : [whole, inner];
  return {
    type,
    required: mark === '!',
    optional: mark === '' || mark === '?',
    computed: mark === '=' || mark === '?',
  };
}
