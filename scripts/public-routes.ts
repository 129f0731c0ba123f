import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Generated } from '../contracts/generate/disk.ts';
import { operations } from '../contracts/generated/operations.ts';
import { MCP_PATH, METADATA_PATH } from '../functions/mcp/protected-resource.ts';

/** Answers what no group serves, with 404, and the pages for people. */
const otherwise = 'server';

/** A path of the catalog, with `*` for each parameter. */
export interface GroupPath {
  readonly group: string;
  readonly segments: readonly string[];
}

/** A path in the syntax of URL maps: `*` is one segment, `**` at the end is all segments below. */
export interface Rule {
  readonly group: string;
  readonly path: string;
}

export interface PublicRoutes {
  readonly otherwise: string;
  /** The first rule that matches decides. */
  readonly rules: readonly Rule[];
}

interface Node {
  readonly below: Map<string, Node>;
  /** The groups with a path at or below this node. */
  readonly groups: Set<string>;
  /** The group with a path that ends here. */
  end: string | null;
}

const newNode = (): Node => ({ below: new Map(), groups: new Set(), end: null });

/** The shortest templates that tell the groups apart. */
export function publicRoutes(paths: readonly GroupPath[]): PublicRoutes {
  const root = newNode();
  for (const { group, segments } of paths) {
    let node = root;
    for (const segment of segments) {
      node.groups.add(group);
      node = childOf(node, segment);
    }
    node.groups.add(group);
    if (node.end !== null && node.end !== group)
      throw new Error(`/${segments.join('/')} belongs to ${node.end} and to ${group}`);
    node.end = group;
  }
  return { otherwise, rules: rulesOf(root, '') };
}

function childOf(node: Node, segment: string): Node {
  const found = node.below.get(segment) ?? newNode();
  node.below.set(segment, found);
  return found;
}

function rulesOf(node: Node, prefix: string): Rule[] {
  const [group, other] = node.groups;
  if (group !== undefined && other === undefined && prefix !== '') {
    const itself = node.end === null ? [] : [{ group, path: prefix }];
    return node.below.size > 0 ? [...itself, { group, path: `${prefix}/**` }] : itself;
  }
  const end = node.end === null ? [] : [{ group: node.end, path: prefix === '' ? '/' : prefix }];
  // A literal segment is tried before a parameter in the same place.
  const below = [...node.below].sort(([left], [right]) => Number(left === '*') - Number(right === '*'));
  return [...end, ...below.flatMap(([segment, child]) => rulesOf(child, `${prefix}/${segment}`))];
}

/** `/a/{b}` as `['a', '*']`. */
export function segmentsOf(path: string): string[] {
  return path
    .split('/')
    .filter((segment) => segment !== '')
    .map((segment) => (segment.startsWith('{') ? '*' : segment));
}

/** The paths of all groups, and the pages for people that the catalog leaves out. */
export function catalogPaths(root: string): GroupPath[] {
  const { excluded } = JSON.parse(readFileSync(join(root, 'contracts/catalog.json'), 'utf8')) as {
    readonly excluded: readonly { readonly path: string }[];
  };
  const pages = excluded.map(({ path }) => ({ group: otherwise, segments: segmentsOf(path) }));
  const served = Object.values(operations).flatMap(({ group, routes }) =>
    routes.map(({ segments }) => ({
      group,
      segments: segments.map((segment) => ('literal' in segment ? segment.literal : '*')),
    })),
  );
  return [...pages, ...served];
}

/** The function of the MCP endpoint, which belongs to no group. */
const endpoint = 'mcp';

/** The paths of all functions that callers reach. */
export function publicPaths(root: string): GroupPath[] {
  const paths = [MCP_PATH, METADATA_PATH].map((path) => ({ group: endpoint, segments: segmentsOf(path) }));
  return [...catalogPaths(root), ...paths];
}

interface FirebaseFile {
  readonly hosting: {
    readonly rewrites: readonly { readonly glob: string; readonly run: { readonly region: string } }[];
  };
}

/** `firebase.json` with the rules as rewrites, in the region that the file names; the rest of it is written by hand. */
function firebaseFile(text: string, { rules }: PublicRoutes): string {
  const file = JSON.parse(text) as FirebaseFile;
  const region = file.hosting.rewrites[0]?.run.region;
  const rewrite = (glob: string, group: string) => ({ glob, run: { serviceId: `svc-${group}`, region } });
  // A rewrite to a function that is not deployed would be refused, and the endpoint is off by default.
  const named = rules.filter(({ group }) => group !== otherwise && group !== endpoint);
  const rewrites = [...named.map(({ path, group }) => rewrite(path, group)), rewrite('**', otherwise)];
  return `${JSON.stringify({ ...file, hosting: { ...file.hosting, rewrites } }, null, 2)}\n`;
}

/** The rules by which the public address selects a function: for Terraform, and as the rewrites of Firebase Hosting. */
export function generated(root: string): Generated {
  const routes = publicRoutes(publicPaths(root));
  const firebase = firebaseFile(readFileSync(join(root, 'firebase.json'), 'utf8'), routes);
  return {
    files: new Map([
      ['infra/routes.json', `${JSON.stringify(routes, null, 2)}\n`],
      ['firebase.json', firebase],
    ]),
  };
}
