/** Search over the documentation: pure, over text that the server holds. */

export interface SearchSection {
  /** Address of the page below `/docs/`, with the name of the heading. */
  readonly href: string;
  readonly page: string;
  readonly heading: string;
  readonly text: string;
}

export interface SearchHit extends SearchSection {
  /** The text around the first match. */
  readonly excerpt: string;
}

/** Longest query in characters, and most words of it that count. */
export const QUERY_LENGTH_MAX = 100;
const WORDS_MAX = 8;
const HITS_MAX = 30;
const EXCERPT_LENGTH = 160;
const EXCERPT_BEFORE = 40;

/** A page as one section per heading. Code counts as text; marks of Markdown do not. */
export function sectionsOf(
  path: string,
  markdown: string,
  slugOf: (heading: string) => string,
): readonly SearchSection[] {
  const sections: { href: string; page: string; heading: string; text: string }[] = [];
  let page = path;
  let isCode = false;
  for (const line of markdown.split('\n')) {
    if (line.startsWith('```')) isCode = !isCode;
    const headingLine = isCode ? null : headingOf(line);
    if (headingLine !== null) {
      const { level, title } = headingLine;
      const heading = plain(title);
      if (level === 1) page = heading;
      sections.push({ href: `${path}#${slugOf(title)}`, page, heading, text: '' });
    } else if (!line.startsWith('```')) {
      const last = sections.at(-1);
      if (last !== undefined) last.text += `${plain(line)} `;
    }
  }
  return sections;
}

/**
 * Sections that hold every word of the query, ignoring case. A word in a heading counts more than one in the text; sections of
 * equal weight keep their order.
 */
export function searchSections(sections: readonly SearchSection[], query: string): readonly SearchHit[] {
  const words = wordsOf(query);
  if (words.length === 0) return [];
  const weighed = lowered(sections).flatMap(({ section, text, heading, page }) => {
    let weight = 0;
    for (const word of words) {
      const found = heading.includes(word) ? 4 : page.includes(word) ? 2 : text.includes(word) ? 1 : 0;
      if (found === 0) return [];
      weight += found;
    }
    return [{ section, weight, at: text.indexOf(words[0] ?? '') }];
  });
  return weighed
    .sort((a, b) => b.weight - a.weight)
    .slice(0, HITS_MAX)
    .map(({ section, at }) => ({ ...section, excerpt: excerptOf(section.text, at) }));
}

interface Lowered {
  readonly section: SearchSection;
  readonly text: string;
  readonly heading: string;
  readonly page: string;
}

const loweredSections = new WeakMap<readonly SearchSection[], readonly Lowered[]>();

/** Made once for the sections of a server: a search lowers its query alone. */
function lowered(sections: readonly SearchSection[]): readonly Lowered[] {
  const known = loweredSections.get(sections);
  if (known) return known;
  const made = sections.map((section) => ({
    section,
    text: section.text.toLowerCase(),
    heading: section.heading.toLowerCase(),
    page: section.page.toLowerCase(),
  }));
  loweredSections.set(sections, made);
  return made;
}

function wordsOf(query: string): readonly string[] {
  const words = query.slice(0, QUERY_LENGTH_MAX).toLowerCase().split(/\s/);
  return words.filter((word) => word !== '').slice(0, WORDS_MAX);
}

function excerptOf(text: string, at: number): string {
  const start = Math.max(0, at - EXCERPT_BEFORE);
  const cut = text.slice(start, start + EXCERPT_LENGTH).trim();
  return `${start > 0 ? '…' : ''}${cut}${start + EXCERPT_LENGTH < text.length ? '…' : ''}`;
}

/** A heading of level one to four. */
function headingOf(line: string): { readonly level: number; readonly title: string } | null {
  const level = line.indexOf(' ');
  const isHeading = level >= 1 && level <= 4 && line.slice(0, level) === '#'.repeat(level);
  return isHeading ? { level, title: line.slice(level + 1).trim() } : null;
}

/** The line without marks of Markdown and addresses of links. */
function plain(markdown: string): string {
  const text = markdown.split('](').map((part, index) => (index === 0 ? part : afterAddress(part)));
  return text
    .join('')
    .replaceAll(/[`*|[\]<>]/g, ' ')
    .split(' ')
    .filter((word) => word !== '')
    .join(' ');
}

function afterAddress(text: string): string {
  const end = text.indexOf(')');
  return end < 0 ? text : text.slice(end + 1);
}
