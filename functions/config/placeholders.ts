import type { DescribedSetting } from './describe.ts';

/** A value that the examples of the project leave to be replaced. */
export interface Placeholder {
  readonly key: string;
  readonly source: string;
  readonly message: string;
}

/**
 * The names that the examples use. As part of a longer name, such as `my-project-2`, they are somebody's own; `my-project-svc-artifacts`
 * is the name that Terraform gives a bucket of `my-project`.
 */
const names = [/(?<![\w.-])svc\.example\.com(?![\w-])/i, /(?<![\w-])my-project(?=-svc-|[^\w-])/i];

/**
 * The settings that still hold a placeholder. The service would start with them and refuse every caller, because no token has that
 * audience or that account. `settings` are without secrets. Pure.
 */
export function placeholdersIn(settings: readonly DescribedSetting[]): Placeholder[] {
  return settings.flatMap(({ key, value, sources }) => {
    const source = sources.join(', ') || 'default';
    const found = Array.isArray(value)
      ? value.map((entry, index) => ({ key: `${key}:${index}`, value: entry as unknown }))
      : [{ key, value }];
    return found.flatMap((entry) =>
      namesIn(entry.value).map((name) => ({
        key: entry.key,
        source,
        message: `holds ${name}, which stands in the examples for a name of your own`,
      })),
    );
  });
}

function namesIn(value: unknown): string[] {
  const text = JSON.stringify(value) ?? '';
  return names.flatMap((name) => name.exec(text)?.[0] ?? []);
}
