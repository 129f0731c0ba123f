import { createHash } from 'node:crypto';
import type { OperationEntry } from '../../../../contracts/operation.ts';
import { RawBody } from '../../../http/message.ts';
import type { Release } from '../dependencies.ts';
import { type DocsFile, operationOf } from './file.ts';
import { type GuideFolder, guideFiles } from './guides.ts';
import { contentSecurityPolicy, page, startScript } from './page.ts';
import { reference } from './reference.ts';
import { style } from './style.ts';

/** `GET /docs`: the API reference for people, with requests to try, and the guides. */

export interface DocsDependencies {
  readonly release: Release;
  /** Reads a file of `functions/docs`, which lies beside the bundle where there is one. */
  readonly readFile: (name: string) => Promise<Uint8Array>;
  readonly guides: GuideFolder;
}

export interface Docs {
  readonly operations: readonly OperationEntry[];
  readonly handlers: Readonly<Record<string, () => Promise<DocsAnswer>>>;
}

interface DocsAnswer {
  readonly status: 200;
  readonly body: RawBody;
  readonly headers: Readonly<Record<string, string>>;
}

const script = 'text/javascript; charset=utf-8';
// What a path with a hash in it names never changes.
const forEver = { 'Cache-Control': 'public, max-age=31536000, immutable' };

const paths = {
  style: `/docs/page-${hashOf(style)}.css`,
  start: `/docs/start-${hashOf(startScript)}.js`,
  reference: `/docs/reference-${reference.version}-${reference.sha256.slice(0, 16)}.js`,
} as const;

export function docs({ release, readFile, guides }: DocsDependencies): Docs {
  const files: readonly DocsFile[] = [
    {
      id: 'getDocsPage',
      path: '/docs',
      mediaType: 'text/html; charset=utf-8',
      headers: { 'Content-Security-Policy': contentSecurityPolicy, 'Referrer-Policy': 'no-referrer' },
      content: async () => page(release, paths),
    },
    {
      id: 'getDocsStyle',
      path: paths.style,
      mediaType: 'text/css; charset=utf-8',
      headers: forEver,
      content: async () => style,
    },
    {
      id: 'getDocsStart',
      path: paths.start,
      mediaType: script,
      headers: forEver,
      content: async () => startScript,
    },
    {
      id: 'getDocsReference',
      path: paths.reference,
      mediaType: script,
      // Kept compressed and sent as it is kept: there is no browser that cannot read it.
      headers: { ...forEver, 'Content-Encoding': 'gzip' },
      content: () => readFile(reference.file),
    },
    ...guideFiles(release, guides, paths.style),
  ];
  return { operations: files.map(operationOf), handlers: Object.fromEntries(files.map(handlerOf)) };
}

function handlerOf({ id, mediaType, headers, content }: DocsFile): [string, () => Promise<DocsAnswer>] {
  return [id, async () => ({ status: 200, body: new RawBody(mediaType, await content()), headers })];
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}
