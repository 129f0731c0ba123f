import { existsSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { operations } from '../../contracts/generated/operations.ts';
import firebase from '../../firebase.json' with { type: 'json' };
import tools from '../../infra/package.json' with { type: 'json' };
import lock from '../../infra/package-lock.json' with { type: 'json' };
import project from '../../package.json' with { type: 'json' };

const root = resolve(import.meta.dirname, '../..');

interface Rewrite {
  readonly glob: string;
  readonly run: { readonly serviceId: string; readonly region: string };
}

/** `*` is one segment, `**` any number of them, as Firebase Hosting reads a glob. */
function matches(glob: string, path: string): boolean {
  const pattern = glob
    .split('/')
    .map((part) => (part === '**' ? '.*' : part.replaceAll('*', '[^/]*')))
    .join('/');
  return new RegExp(`^${pattern}$`).test(path);
}

/** The group whose function answers the path: the first rewrite decides. */
function groupOf(rewrites: readonly Rewrite[], path: string): string | undefined {
  return rewrites.find(({ glob }) => matches(glob, path))?.run.serviceId.replace(/^svc-/, '');
}

/** Operations whose path leads to another group's function. */
function astray(rewrites: readonly Rewrite[]): string[] {
  return Object.values(operations).flatMap(({ id, group, routes }) => {
    const paths = routes.map(({ segments }) => {
      return segments.map((each) => ('literal' in each ? `/${each.literal}` : '/any-value')).join('');
    });
    return paths.filter((path) => groupOf(rewrites, path) !== group).map((path) => `${id} at ${path}`);
  });
}

describe('firebase.json', () => {
  test('leads every path of the catalog to the function of its group', () => {
    expect(astray(firebase.hosting.rewrites)).toEqual([]);
    for (const path of ['/docs/guides/first-commit.md', '/llms.txt', '/llms-full.txt'])
      expect(groupOf(firebase.hosting.rewrites, path), path).toBe('server');
    expect(groupOf(firebase.hosting.rewrites, '/')).toBe('server');
  });

  test('a planted typo in a rewrite is found', () => {
    const planted = firebase.hosting.rewrites.map((rewrite) => ({
      ...rewrite,
      glob: rewrite.glob.replace('/execution/', '/executions/'),
    }));
    expect(astray(planted)).toContain('listExecutionRuns at /execution/runs');
  });

  test('names files that exist, and publishes no page beside the service', () => {
    const { rules, indexes } = firebase.firestore;
    for (const path of [rules, indexes]) expect(existsSync(join(root, path)), path).toBe(true);
    expect(readdirSync(join(root, firebase.hosting.public))).toEqual(['robots.txt']);
  });

  test('gives each emulator a port of its own on this machine alone', () => {
    const { firestore, hosting, hub, logging } = firebase.emulators;
    const emulators = [firestore, hosting, hub, logging];
    expect(new Set(emulators.map(({ port }) => port)).size).toBe(emulators.length);
    expect(new Set(emulators.map(({ host }) => host))).toEqual(new Set(['127.0.0.1']));
  });
});

describe('firebase-tools', () => {
  test('is pinned in infra alone, so that the project installs without it', () => {
    expect(tools.devDependencies['firebase-tools']).toMatch(/^\d+\.\d+\.\d+$/);
    expect(Object.keys({ ...project.dependencies, ...project.devDependencies })).not.toContain(
      'firebase-tools',
    );
  });

  test('is locked with all that it depends on, to content and not to a registry', () => {
    const packages = lock.packages as Readonly<Record<string, { version?: string; integrity?: string }>>;
    const locked = Object.entries(packages).filter(([path]) => path !== '');
    expect(packages['node_modules/firebase-tools']?.version).toBe(tools.devDependencies['firebase-tools']);
    expect(locked.filter(([, { integrity = '' }]) => !integrity.startsWith('sha512-'))).toEqual([]);
    expect(JSON.stringify(lock)).not.toContain('"resolved"');
  });
});
