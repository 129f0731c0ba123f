import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { operations } from '../../contracts/generated/operations.ts';
import { catalogGroups } from '../../functions/compose/catalog-groups.ts';
import { functionNames } from '../../functions/compose/functions.ts';
import {
  catalogPaths,
  type GroupPath,
  publicPaths,
  publicRoutes,
  segmentsOf,
} from '../../scripts/public-routes.ts';
import { infraFolder, readConfiguration } from './configuration.ts';
import { groupFor, readings } from './url-map.ts';

const root = join(infraFolder, '..');
const { locals, resource } = await readConfiguration(infraFolder);

/** Paths of groups that the catalog does not have yet: prefixes cannot tell all of them apart. */
const toCome = JSON.parse(readFileSync(join(import.meta.dirname, 'paths-to-come.json'), 'utf8')) as Readonly<
  Record<string, readonly string[]>
>;
const later: readonly GroupPath[] = Object.entries(toCome).flatMap(([group, paths]) =>
  paths.map((path) => ({ group, segments: segmentsOf(path) })),
);

interface FirebaseFile {
  readonly hosting: {
    readonly rewrites: readonly { readonly glob: string; readonly run: { readonly serviceId: string } }[];
  };
}

const samples = ['acme', 'a-b.c~d', 'a%2Fb', '0', '%E2%82%AC'];
const sampleOf = (segments: readonly string[], at: number) =>
  `/${segments.map((segment) => (segment === '*' ? samples[at] : segment)).join('/')}`;

describe('the map of functions', () => {
  test('has one entry for each group of the catalog', () => {
    expect(Object.keys(locals['groups'] as object).sort()).toEqual(
      catalogGroups.map(({ name }) => name).sort(),
    );
  });

  test('has one entry for each function without a group', () => {
    // Callers reach the MCP endpoint, so it is public; it is deployed on request.
    const internal = functionNames.filter((name) => name !== 'mcp');
    expect(Object.keys(locals['internal'] as object).sort()).toEqual([...internal].sort());
    expect(locals['mcp']).toMatch(/^\$\{var\.mcp \? \{ mcp = \{ .* queues = true, .* \} \} : \{\}\}$/);
    expect(locals['public']).toBe('${merge(local.groups, local.mcp)}');
    expect(locals['functions']).toBe('${merge(local.public, local.internal)}');
  });

  test('lets exactly the groups that use runs create tasks', () => {
    const starting = Object.values(operations).filter(({ completion }) => completion === 'receipt-bound');
    const groups = locals['groups'] as Readonly<Record<string, { readonly queues: boolean }>>;
    const creating = Object.entries(groups).flatMap(([name, { queues }]) => (queues ? [name] : []));
    expect(creating.sort()).toEqual([...new Set(starting.map(({ group }) => group))].sort());
  });
});

describe('the public address', () => {
  const deployed = JSON.parse(readFileSync(join(infraFolder, 'routes.json'), 'utf8')) as ReturnType<
    typeof publicRoutes
  >;

  test.each(readings)('routes every path of the catalog to its group, where ** is %s', (reading) => {
    for (const { group, segments } of publicPaths(root))
      for (const at of samples.keys())
        expect(groupFor(deployed, sampleOf(segments, at), reading), segments.join('/')).toBe(group);
  });

  test('has a rule for each path of an operation, not only the default', () => {
    const strict = { ...deployed, otherwise: 'nothing' };
    for (const { id, group, routes } of Object.values(operations)) {
      for (const { segments } of routes) {
        const path = segments.map((segment) => ('literal' in segment ? segment.literal : '*'));
        expect(groupFor(strict, sampleOf(path, 0), 'one or more segments'), id).toBe(group);
      }
    }
  });

  test('sends paths that no operation has to the server, which answers 404', () => {
    for (const path of ['/nothing', '/canonicals/x', '/execution-x/runs', '/favicon.ico', '//execution/runs'])
      expect(groupFor(deployed, path, 'nothing or more segments')).toBe('server');
    expect(groupFor(deployed, '/execution/unknown?a=/canonical/x', 'one or more segments')).toBe('execution');
  });

  test.each(readings)('has the same rules in Firebase Hosting, where ** is %s', (reading) => {
    const { hosting } = JSON.parse(readFileSync(join(root, 'firebase.json'), 'utf8')) as FirebaseFile;
    const rules = hosting.rewrites.map(({ glob, run }) => ({
      group: run.serviceId.replace(/^svc-/, ''),
      path: glob === '**' ? '/**' : glob,
    }));
    for (const { group, segments } of catalogPaths(root))
      expect(groupFor({ rules, otherwise: 'server' }, sampleOf(segments, 0), reading)).toBe(group);
  });

  test.each(readings)('can route the paths of all groups to come, where ** is %s', (reading) => {
    const paths = [...publicPaths(root), ...later];
    const routes = publicRoutes(paths);
    for (const { group, segments } of paths)
      for (const at of samples.keys())
        expect(groupFor(routes, sampleOf(segments, at), reading), segments.join('/')).toBe(group);
  });

  test('distinguishes groups under one parameter', () => {
    const routes = publicRoutes([...publicPaths(root), ...later]);
    const groups = (path: string) => readings.map((reading) => groupFor(routes, path, reading));
    expect(groups('/collections/papers/rag/ingest-text')).toEqual(['rag', 'rag']);
    expect(groups('/collections/papers/graph/import')).toEqual(['graph', 'graph']);
    expect(groups('/collections/papers/records/p/1')).toEqual(['records', 'records']);
    expect(groups('/collections/papers/import/jobs')).toEqual(['collections', 'collections']);
    expect(groups('/collections/rag')).toEqual(['collections', 'collections']);
  });

  test('refuses one path of two groups', () => {
    const paths = ['a', 'b'].map((group) => ({ group, segments: ['x', '*'] }));
    expect(() => publicRoutes(paths)).toThrow('/x/* belongs to a and to b');
  });

  test('stays within the limits of URL maps', () => {
    for (const { rules } of [deployed, publicRoutes([...publicPaths(root), ...later])]) {
      expect(rules.length).toBeLessThanOrEqual(200);
      for (const { path } of rules) {
        expect(path.length).toBeLessThanOrEqual(255);
        expect(path.match(/\*+/g)?.length ?? 0, path).toBeLessThanOrEqual(5);
        expect(path.slice(0, -2)).not.toContain('**');
      }
    }
  });

  test('is built from those rules, in their order', () => {
    expect(locals['routes']).toBe('${jsondecode(file("${path.module}/routes.json"))}');
    // A rule may not name a function that is not deployed.
    expect(locals['rules']).toBe(
      '${[for rule in local.routes.rules : rule if contains(keys(local.public), rule.group)]}',
    );
    const [map] = resource['google_compute_url_map']?.['public'] ?? [];
    expect(map).toMatchObject({
      path_matcher: [
        {
          dynamic: {
            route_rules: [{ for_each: '${local.rules}', content: [{ priority: '${route_rules.key + 1}' }] }],
          },
        },
      ],
    });
  });
});
