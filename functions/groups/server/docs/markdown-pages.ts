import type { Release } from '../dependencies.ts';
import type { DocsFile } from './file.ts';
import { cleanAddress, guidesPath } from './frame.ts';
import { INDEX_PAGE, type NavigationSection } from './navigation.ts';

/** The documentation as text for programs: the source of each page, an index, and the guides as one file. */

/** Root-relative: the server does not know its public address. */
const LLMS_PATH = '/llms.txt';
const LLMS_FULL_PATH = '/llms-full.txt';
const OPENAPI_PATH = '/openapi/svc.json';
const SCHEMA_PATH = '/contracts/schemas/svc-public.schema.json';

/** A reader of the whole file has a bounded context: 300 kB are about 75,000 tokens. */
const LLMS_FULL_BYTES_MAX = 300_000;

const SUMMARY_LENGTH_MAX = 200;

interface MarkdownPage {
  /** Such as `guides/fences.md`. */
  readonly path: string;
  readonly title: string;
  readonly text: string;
  /** The first sentence below the title; the title where the page starts otherwise. */
  readonly summary: string;
}

interface MarkdownSection {
  readonly title: string;
  readonly pages: readonly MarkdownPage[];
}

export const MARKDOWN = 'text/markdown; charset=utf-8';
const plain = 'text/plain; charset=utf-8';
const headers = { 'Referrer-Policy': 'no-referrer' };

/** The source of each page under the name of its file. */
export function sourcePages(
  paths: readonly string[],
  read: (path: string) => Promise<string>,
): readonly DocsFile[] {
  return paths.map((path) => ({
    id: `getDocsSource:${path}`,
    path: markdownAddress(path),
    aliases: pageAddresses(path).map((address) => `${address}.md`),
    mediaType: MARKDOWN,
    headers,
    content: () => read(path),
  }));
}

/** The addresses of a page that are not the name of its file without the ending. */
function pageAddresses(path: string): readonly string[] {
  if (!path.endsWith('README.md')) return [];
  return [`/docs/${cleanAddress(path)}`, ...(path === INDEX_PAGE ? [guidesPath] : [])];
}

export function markdownAddress(path: string): string {
  return `/docs/${path}`;
}

/** `/llms.txt` and `/llms-full.txt`. */
export function llmsFiles(
  release: Release,
  sections: () => Promise<readonly MarkdownSection[]>,
): readonly DocsFile[] {
  return [
    textFile('getDocsIndexForModels', LLMS_PATH, async () => llmsIndex(release, await sections())),
    textFile('getDocsTextForModels', LLMS_FULL_PATH, async () => llmsFull(release, await sections())),
  ];
}

function textFile(id: string, path: string, content: DocsFile['content']): DocsFile {
  return { id, path, mediaType: plain, headers, content };
}

/** Whether the field `Accept` names Markdown and does not prefer HTML. Browsers do not name it. */
export function prefersMarkdown(accept: string | undefined): boolean {
  const weight = acceptedWeight(accept ?? '', 'text/markdown');
  return weight > 0 && weight >= acceptedWeight(accept ?? '', 'text/html');
}

/** 0 for a type that the field does not name. */
function acceptedWeight(accept: string, mediaType: string): number {
  for (const item of accept.toLowerCase().split(',')) {
    const [type = '', ...parameters] = item.split(';').map((part) => part.trim());
    if (type !== mediaType) continue;
    const weight = parameters.find((parameter) => parameter.startsWith('q='));
    if (weight === undefined) return 1;
    return /^q=(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(weight) ? Number(weight.slice(2)) : 0;
  }
  return 0;
}

/** The format of llmstxt.org: a title, a summary, and sections of links. */
function llmsIndex({ service, version }: Release, sections: readonly MarkdownSection[]): string {
  const lists = sections.map(({ title, pages }) => {
    const links = pages.map((page) => `- [${page.title}](${markdownAddress(page.path)}): ${page.summary}`);
    return `## ${title}\n\n${links.join('\n')}\n`;
  });
  return `${llmsHead(service, version)}
The guides, and the other pages that fit, as one file: ${LLMS_FULL_PATH}. Each page that a section lists, and each decision, is
Markdown under the address with \`.md\`, and under that without the ending for \`Accept: text/markdown\`. /docs itself is the API
reference for browsers: read the contract instead.

## Contract

- [OpenAPI 3.1](${OPENAPI_PATH}): every operation with its models and problem codes
- [JSON Schema](${SCHEMA_PATH}): every public model

${lists.join('\n')}`;
}

/** The guides, then the other pages, in the order of the sections. A page for which no room is left is named at the end. */
function llmsFull({ service, version }: Release, sections: readonly MarkdownSection[]): string {
  const all = sections.flatMap((section) => section.pages);
  const pages = [...all.filter(isGuide), ...all.filter((page) => !isGuide(page))];
  const start = `${llmsHead(service, version)}\n`;
  const rest = '\n# Pages that are not in this file\n\n';
  // Room for the line of each page, whether it is taken or not.
  let room =
    LLMS_FULL_BYTES_MAX -
    Buffer.byteLength(start + rest) -
    pages.reduce((sum, page) => sum + Buffer.byteLength(linkLine(page)), 0);
  const taken: string[] = [];
  const left: string[] = [];
  for (const page of pages) {
    const text = `<!-- ${markdownAddress(page.path)} -->\n\n${page.text.trim()}\n\n`;
    const bytes = Buffer.byteLength(text);
    if (bytes > room) left.push(linkLine(page));
    else {
      taken.push(text);
      room -= bytes;
    }
  }
  return `${start}${taken.join('')}${left.length === 0 ? '' : rest + left.join('')}`;
}

function linkLine({ path, title }: MarkdownPage): string {
  return `- [${title}](${markdownAddress(path)})\n`;
}

function isGuide({ path }: MarkdownPage): boolean {
  return path.startsWith('guides/');
}

function llmsHead(service: string, version: string): string {
  return `# ${service} ${version}

> Tenant-scoped canonical store, durable execution runtime and one public contract over both. Clients for TypeScript and Python.
`;
}

/** The first sentence of a paragraph, if it is one and short enough. */
function firstSentence(paragraph: string): string | undefined {
  const [sentence = ''] = paragraph.split(/(?<=[.:])\s/);
  const isSentence = /^[A-Z]/.test(sentence) && sentence.length <= SUMMARY_LENGTH_MAX;
  return isSentence ? sentence.replace(/[.:]$/, '') : undefined;
}

/** The sections of the index without the page that is the index, each page with its text. */
export async function markdownSections(
  navigation: readonly NavigationSection[],
  served: ReadonlySet<string>,
  read: (path: string) => Promise<string>,
): Promise<readonly MarkdownSection[]> {
  const { firstParagraph } = await import('./markdown.ts');
  return Promise.all(
    navigation.map(async ({ title, pages }) => ({
      title,
      pages: await Promise.all(
        pages
          .filter(({ path }) => served.has(path) && path !== INDEX_PAGE)
          .map(async (page) => {
            const text = await read(page.path);
            return { ...page, text, summary: firstSentence(firstParagraph(text)) ?? page.title };
          }),
      ),
    })),
  );
}
