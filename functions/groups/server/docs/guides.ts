import type { Release } from '../dependencies.ts';
import type { DocsFile } from './file.ts';
import { bar, documentStart, escapeHtml, guidesPath } from './frame.ts';

/** The project's documentation, made into pages when somebody asks for one. */
export interface GuideFolder {
  /** Such as `tool.md` and `reference/errors.md`. */
  readonly paths: readonly string[];
  readonly read: (path: string) => Promise<string>;
}

/** As strict as a page of text can be. */
export const guidePolicy =
  "default-src 'none'; style-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

export function guideFiles(release: Release, folder: GuideFolder, style: string): DocsFile[] {
  const paths = folder.paths.filter((path) => /^(?:[a-z][a-z-]*\/)*[A-Za-z0-9-]+\.md$/.test(path));
  const served = new Set(paths);
  const file = (id: string, path: string, body: () => Promise<Body>): DocsFile => {
    const make = async (): Promise<string> => {
      const { title, html } = await body();
      const start = documentStart(`${title} · ${release.service} ${release.version}`, style);
      return `${start}\n<body>\n${bar(release)}\n<article>\n${html}</article>\n</body>\n</html>\n`;
    };
    let made: string | undefined;
    return {
      id,
      path,
      mediaType: 'text/html; charset=utf-8',
      headers: { 'Content-Security-Policy': guidePolicy, 'Referrer-Policy': 'no-referrer' },
      async content() {
        // Once: whoever asks is not known, and a long page takes tens of milliseconds to make.
        made ??= await make();
        return made;
      },
    };
  };
  return [
    file('getDocsGuides', guidesPath, () => contents(folder, paths)),
    ...paths.map((path) =>
      file(`getDocsGuide:${path}`, `/docs/${path}`, async () => {
        const text = await folder.read(path);
        const { renderMarkdown } = await import('./markdown.ts');
        return {
          title: titleOf(text, path),
          html: renderMarkdown(text, (href) => served.has(resolved(path, href))),
        };
      }),
    ),
  ];
}

interface Body {
  readonly title: string;
  readonly html: string;
}

const headings: Readonly<Record<string, string>> = { guides: 'Guides', '': 'Topics' };

/** All pages by folder, the guides first. A folder with a page about itself is listed by that page alone. */
async function contents(folder: GuideFolder, paths: readonly string[]): Promise<Body> {
  const folders = Map.groupBy(paths, (path) => path.slice(0, Math.max(0, path.lastIndexOf('/'))));
  const order = [...new Set([...Object.keys(headings), ...[...folders.keys()].sort()])];
  const sections = await Promise.all(
    order.map(async (name) => {
      const all = folders.get(name)?.toSorted() ?? [];
      const own = all.filter((path) => path.endsWith('README.md'));
      const items = await Promise.all(
        (own.length > 0 ? own : all).map(async (path) => {
          const title = titleOf(await folder.read(path), path);
          return `<li><a href="/docs/${path}">${escapeHtml(title)}</a></li>`;
        }),
      );
      const heading = headings[name] ?? `${name.charAt(0).toUpperCase()}${name.slice(1)}`;
      return items.length === 0 ? '' : `<h2>${heading}</h2>\n<ul>\n${items.join('\n')}\n</ul>\n`;
    }),
  );
  return { title: 'Documentation', html: `<h1>Documentation</h1>\n${sections.join('')}` };
}

function titleOf(text: string, path: string): string {
  return /^# +(.+)$/m.exec(text)?.[1]?.replaceAll('`', '') ?? path;
}

/** The page that a link of `path` leads to, '' where it leads out of the folder. */
function resolved(path: string, href: string): string {
  const { pathname } = new URL(href, `http://svc.invalid/docs/${path}`);
  return pathname.startsWith('/docs/') ? pathname.slice('/docs/'.length) : '';
}
