import { cleanAddress, escapeHtml } from './frame.ts';

/** The contents of the documentation, read from its index page `docs/README.md`. */

export interface NavigationSection {
  readonly title: string;
  readonly pages: readonly { readonly path: string; readonly title: string }[];
}

/** The page that lists all others. */
export const INDEX_PAGE = 'README.md';

/** Sections are headings of level two; pages are the links in their lists. */
export function readNavigation(index: string): readonly NavigationSection[] {
  const sections: { title: string; pages: { path: string; title: string }[] }[] = [];
  for (const line of index.split('\n')) {
    const [, heading] = /^## (.+)$/.exec(line) ?? [];
    if (heading !== undefined) sections.push({ title: heading, pages: [] });
    const [, title, path] = /^- \[([^\]]+)\]\(([^)\s]+\.md)\)/.exec(line) ?? [];
    if (title !== undefined && path !== undefined) sections.at(-1)?.pages.push({ path, title });
  }
  return sections;
}

/** The list beside every page; the page in view is marked. */
export function navigationHtml(sections: readonly NavigationSection[], current: string): string {
  const lists = sections.map(({ title, pages }) => {
    const items = pages.map((page) => {
      const mark = page.path === current ? ' aria-current="page"' : '';
      return `<li><a href="/docs/${cleanAddress(page.path)}"${mark}>${escapeHtml(page.title)}</a></li>`;
    });
    return `<h2>${escapeHtml(title)}</h2>\n<ul>\n${items.join('\n')}\n</ul>`;
  });
  return lists.join('\n');
}
