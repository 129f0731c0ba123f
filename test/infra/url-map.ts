import type { PublicRoutes } from '../../scripts/public-routes.ts';

/** How the load balancer selects a backend: the first rule that matches decides, else the default service. */

/**
 * The meaning of `**` at the end of a template. The documentation of load balancers contradicts itself on whether it
 * matches an empty rest, so rules must be right under both readings.
 */
export const readings = ['nothing or more segments', 'one or more segments'] as const;
export type Reading = (typeof readings)[number];

export function groupFor({ rules, otherwise }: PublicRoutes, path: string, reading: Reading): string {
  return rules.find((rule) => matches(rule.path, path, reading))?.group ?? otherwise;
}

/** `*` is one segment. The query is no part of the path, and encoded slashes do not separate. */
function matches(template: string, path: string, reading: Reading): boolean {
  const [bare = ''] = path.split('?', 1);
  const source = template
    .split('/')
    .slice(1)
    .map((segment) => {
      if (segment === '**') return reading === 'one or more segments' ? '/.+' : '(?:/.*)?';
      return segment === '*' ? '/[^/]+' : `/${segment.replace(/[.+?^${}()|[\]\\]/g, '\\$&')}`;
    })
    .join('');
  return new RegExp(`^${source}$`).test(bare);
}
