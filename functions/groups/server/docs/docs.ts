import { createHash } from 'node:crypto';
import type { OperationEntry } from '../../../../contracts/operation.ts';
import { fixedBytes } from '../../../http/fixed-document.ts';
import { RawBody } from '../../../http/message.ts';
import type { Release } from '../dependencies.ts';
import { type DocsFile, type DocsQuery, operationOf } from './file.ts';
import { type GuideFolder, guideFiles } from './guides.ts';
import { MARKDOWN, prefersMarkdown } from './markdown-pages.ts';
import { contentSecurityPolicy, page, startScript } from './page.ts';
import { reference } from './reference.ts';
import { SAMPLED_CONTRACT_PATH, sampledContract } from './samples.ts';
import { style } from './style.ts';

/** `GET /docs`: the API reference with requests to try, the guides, and a search over them. */

export interface Docs {
  readonly operations: readonly OperationEntry[];
  readonly handlers: Readonly<Record<string, DocsHandler>>;
}

type DocsHandler = (
  input: { readonly query: DocsQuery },
  context: { readonly header: (name: string) => string | undefined },
) => Promise<DocsAnswer>;

interface DocsAnswer {
  readonly status: 200;
  readonly body: RawBody;
  readonly headers: Readonly<Record<string, string>>;
}

const script = 'text/javascript; charset=utf-8';
// The hash in the path changes with the content.
const forEver = { 'Cache-Control': 'public, max-age=31536000, immutable' };

const paths = {
  style: `/docs/page-${hashOf(style)}.css`,
  start: `/docs/start-${hashOf(startScript)}.js`,
  reference: `/docs/reference-${reference.version}-${reference.sha256.slice(0, 16)}.js`,
} as const;

/** `readFile` reads a file of `functions/docs`; a bundle has it beside itself. */
export function docs(
  release: Release,
  readFile: (name: string) => Promise<Uint8Array>,
  guides: GuideFolder,
  openApi: () => Promise<object>,
): Docs {
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
      // Stored and sent compressed: every browser reads gzip.
      headers: { ...forEver, 'Content-Encoding': 'gzip' },
      content: () => readFile(reference.file),
    },
    {
      id: 'getDocsContract',
      path: SAMPLED_CONTRACT_PATH,
      mediaType: 'application/json',
      headers: { 'Cache-Control': 'no-cache' },
      content: async () => sampledContract(await openApi(), await readFile('samples.json')),
    },
    ...guideFiles(release, guides, paths.style),
  ];
  return { operations: files.map(operationOf), handlers: Object.fromEntries(files.map(handlerOf)) };
}

/** A file without parameters is made once, with the first request for it. */
function handlerOf({ id, mediaType, headers, query, content, markdown }: DocsFile): [string, DocsHandler] {
  const fixed = madeOnce(mediaType, () => content({}));
  const source = markdown === undefined ? null : madeOnce(MARKDOWN, markdown);
  const body = async (given: DocsQuery, accept: string | undefined): Promise<RawBody> => {
    if (query !== undefined) return new RawBody(mediaType, await content(given));
    return source !== null && prefersMarkdown(accept) ? source() : fixed();
  };
  return [
    id,
    async (input, { header }) => ({ status: 200, body: await body(input.query, header('accept')), headers }),
  ];
}

function madeOnce(mediaType: string, make: () => Promise<string | Uint8Array>): () => Promise<RawBody> {
  let made: RawBody | undefined;
  return async () => {
    if (made) return made;
    const bytes = fixedBytes(await make());
    made = new RawBody(mediaType, bytes.content, bytes.etag);
    return made;
  };
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}
