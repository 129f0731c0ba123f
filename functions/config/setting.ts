import type { Kind } from './kinds.ts';

/** The host of the service: all groups in one process of its own, or one group behind functions-framework. */
export type Host = 'embedded' | 'functions';

/** The facts that a default may depend on. */
export interface Given {
  readonly environment: string;
  readonly host: Host;
}

export interface Setting<T> {
  readonly key: string;
  readonly kind: Kind<T>;
  /** Default value. A function when it depends on environment and host. */
  readonly fallback: T | ((given: Given) => T);
  readonly description: string;
  /** Short names in the environment, beside `Section__Key`, which wins over them. */
  readonly variables: readonly string[];
  /** Short name on the command line, beside `--Section:Key`. */
  readonly option: string | undefined;
  readonly unit: string | undefined;
}

export interface SettingNames {
  readonly variables?: readonly string[];
  readonly option?: string;
  readonly unit?: string;
}

/** One line of the table. */
export function setting<T>(
  key: string,
  kind: Kind<NoInfer<Exclude<T, null>>>,
  fallback: T | ((given: Given) => T),
  description: string,
  names: SettingNames = {},
): Setting<T> {
  const { variables = [], option, unit } = names;
  // A kind never reads `null`: the value means "not set" and comes from the fallback only.
  return { key, kind: kind as Kind<unknown> as Kind<T>, fallback, description, variables, option, unit };
}

export function fallbackOf<T>(line: Setting<T>, given: Given): T {
  return typeof line.fallback === 'function' ? (line.fallback as (given: Given) => T)(given) : line.fallback;
}
