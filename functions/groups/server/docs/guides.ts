import type { Release } from '../dependencies.ts';
import type { DocsFile, DocsQuery } from './file.ts';
import { bar, cleanAddress, documentStart, escapeHtml, guidesPath, searchPath } from './frame.ts';
import { llmsFiles, markdownAddress, markdownSections, sourcePages } from './markdown-pages.ts';
import { INDEX_PAGE, type NavigationSection, navigationHtml, readNavigation } from './navigation.ts';
import { QUERY_LENGTH_MAX, type SearchSection, searchSections, sectionsOf } from './search.ts';

/** The project's documentation, rendered when the first reader asks for a page. */
export interface GuideFolder {
  /** Such as `tool.md` and `reference/errors.md`. */
  readonly paths: readonly string[];
  readonly read: (path: string) => Promise<string>;
}

/** The pages are text: they run no script, and the search form may be sent to this server only. */
const guidePolicy =
  "default-src 'none'; style-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'self'";

const SETTINGS_SCHEMA = 'reference/svcsettings.schema.json';

const MADE_PAGES: DocsQuery = {};

export function guideFiles(release: Release, folder: GuideFolder, style: string): DocsFile[] {
  const paths = folder.paths.filter((path) => /^(?:[a-z][a-z-]*\/)*[A-Za-z0-9-]+\.md$/.test(path));
  const site: Site = {
    served: new Set(paths),
    read: folder.read,
    navigation: once(async () =>
      paths.includes(INDEX_PAGE) ? readNavigation(await folder.read(INDEX_PAGE)) : [],
    ),
    sections: once(async () => {
      const ordered = await inOrder(site, paths);
      return (await Promise.all(ordered.map((path) => indexed(folder, path)))).flat();
    }),
  };
  const framed = async (path: string, { title, html }: Body): Promise<string> => {
    const start = documentStart(`${title} · ${release.service} ${release.version}`, style);
    // The page of contents needs no second list.
    const beside = path === '' ? '' : `\n${aside(await site.navigation(), path)}`;
    const skip = path === '' ? '' : '\n<a class="skip" href="#contents">Contents</a>';
    const source = paths.includes(path) ? sourceLink(path) : '';
    return `${start}\n<body>\n${bar(release)}${skip}\n<article>\n${html}${source}</article>${beside}\n</body>\n</html>\n`;
  };
  const file = (id: string, path: string, body: (query: DocsQuery) => Promise<Body>): DocsFile => ({
    id,
    path: path === '' ? guidesPath : `/docs/${cleanAddress(path)}`,
    mediaType: 'text/html; charset=utf-8',
    headers: { 'Content-Security-Policy': guidePolicy, 'Referrer-Policy': 'no-referrer' },
    content: async (query) => framed(path, await body(query)),
  });
  // Rendering a long page takes tens of milliseconds and callers are unknown, so each page is rendered once.
  const fixed = (id: string, path: string, body: () => Promise<Body>): DocsFile => {
    const page = file(id, path, body);
    const made = once(async () => page.content(MADE_PAGES));
    const source = path === '' ? INDEX_PAGE : path;
    if (!paths.includes(source)) return { ...page, content: made };
    const headers = { ...page.headers, Vary: 'Accept' };
    return { ...page, headers, content: made, markdown: () => folder.read(source) };
  };
  return [
    fixed('getDocsGuides', '', () => contents(site)),
    {
      ...file('getDocsSearch', 'search', (query) => searchPage(site, query)),
      query: [{ name: 'q', required: false, type: 'string', maxLength: QUERY_LENGTH_MAX }],
    },
    ...paths.map((path) => fixed(`getDocsGuide:${path}`, path, () => rendered(site, path))),
    ...sourcePages(paths, folder.read),
    ...llmsFiles(
      release,
      once(async () => markdownSections(await site.navigation(), site.served, folder.read)),
    ),
    ...schemaFiles(folder),
  ];
}

/** The schema of settings files, at the address beside the page of the settings. */
function schemaFiles({ paths, read }: GuideFolder): readonly DocsFile[] {
  if (!paths.includes(SETTINGS_SCHEMA)) return [];
  const mediaType = 'application/schema+json';
  const content = () => read(SETTINGS_SCHEMA);
  return [{ id: 'getDocsSettingsSchema', path: `/docs/${SETTINGS_SCHEMA}`, mediaType, headers: {}, content }];
}

/** Not a link of the text: the page of contents and the search list pages alone. */
function sourceLink(path: string): string {
  return `<p><a rel="alternate" type="text/markdown" href="${markdownAddress(path)}">This page as Markdown</a></p>\n`;
}

interface Site {
  readonly served: ReadonlySet<string>;
  readonly read: (path: string) => Promise<string>;
  readonly navigation: () => Promise<readonly NavigationSection[]>;
  readonly sections: () => Promise<readonly SearchSection[]>;
}

interface Body {
  readonly title: string;
  readonly html: string;
}

async function rendered({ read, served }: Site, path: string): Promise<Body> {
  const text = await read(path);
  const { renderMarkdown } = await import('./markdown.ts');
  return {
    title: titleOf(text, path),
    html: renderMarkdown(text, (href) => served.has(resolved(path, href))),
  };
}

/** The search form and the contents: beside the text, or below it on a narrow screen. */
function aside(sections: readonly NavigationSection[], path: string): string {
  const list = navigationHtml(sections, path);
  return `<nav id="contents" class="contents" aria-label="Documentation">\n${searchForm('')}\n${list}\n</nav>`;
}

function searchForm(query: string): string {
  return `<form role="search" action="${searchPath}"><input type="search" name="q" value="${escapeHtml(query)}" maxlength="${QUERY_LENGTH_MAX}" aria-label="Search the documentation" placeholder="Search"></form>`;
}

/** The contents, and below them every page that the index does not name. */
async function contents({ navigation, served, read }: Site): Promise<Body> {
  const sections = await navigation();
  const named = new Set(sections.flatMap(({ pages }) => pages.map(({ path }) => path)));
  const others = [...served].filter((path) => !named.has(path) && path !== INDEX_PAGE).sort();
  const more = await Promise.all(
    others.map(async (path) => ({ path, title: titleOf(await read(path), path) })),
  );
  const all = more.length === 0 ? sections : [...sections, { title: 'More', pages: more }];
  return {
    title: 'Documentation',
    html: `<h1>Documentation</h1>\n${searchForm('')}\n${navigationHtml(all, '')}\n`,
  };
}

async function searchPage({ sections }: Site, { q }: DocsQuery): Promise<Body> {
  const query = typeof q === 'string' ? q : '';
  const hits = searchSections(await sections(), query);
  const items = hits.map(({ href, page, heading, excerpt }) => {
    const place = page === heading ? escapeHtml(page) : `${escapeHtml(page)} › ${escapeHtml(heading)}`;
    return `<li><a href="/docs/${cleanAddress(href)}">${place}</a><br>${escapeHtml(excerpt)}</li>`;
  });
  const found = query === '' ? '' : `<p>${hits.length} sections match.</p>\n`;
  return {
    title: 'Search',
    html: `<h1>Search</h1>\n${searchForm(query)}\n${found}<ul class="hits">\n${items.join('\n')}\n</ul>\n`,
  };
}

/** The pages of the index in its order, then the others: guides come before decisions among equal hits. */
async function inOrder({ navigation }: Site, paths: readonly string[]): Promise<readonly string[]> {
  const named = (await navigation()).flatMap(({ pages }) => pages.map(({ path }) => path));
  return [...new Set([...named, ...paths])].filter((path) => paths.includes(path));
}

async function indexed(folder: GuideFolder, path: string): Promise<readonly SearchSection[]> {
  const [text, { slugger }] = await Promise.all([folder.read(path), import('./markdown.ts')]);
  return sectionsOf(path, text, slugger());
}

function titleOf(text: string, path: string): string {
  return /^# +(.+)$/m.exec(text)?.[1]?.replaceAll('`', '') ?? path;
}

/** The page to which a link of `path` leads; '' where it leads out of the folder. */
function resolved(path: string, href: string): string {
  const { pathname } = new URL(href, `http://svc.invalid/docs/${path}`);
  return pathname.startsWith('/docs/') ? pathname.slice('/docs/'.length) : '';
}

/** Runs `make` with the first call. A failure is not kept. */
function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make().catch((error: unknown) => {
      made = undefined;
      throw error;
    });
    return made;
  };
}
