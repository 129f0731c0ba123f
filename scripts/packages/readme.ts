import { posix } from 'node:path';
import { projectPackage } from '../build/project.ts';

/** Links in a page that leads out of its package: a registry shows the page without the repository around it. */

/** The same Markdown, in which each relative link names the file in the repository at the tag of the release. */
export function withAbsoluteLinks(text: string, directory: string): string {
  const parts = text.split(/(^```.*?^```$)/ms);
  return parts.map((part) => (part.startsWith('```') ? part : absolute(part, directory))).join('');
}

/** The relative links that a page still has. */
export function relativeLinks(text: string): string[] {
  const prose = text.replace(/^```.*?^```$/gms, '');
  return [...prose.matchAll(linkTarget)].map(([, , target = '']) => target).filter(isRelative);
}

const linkTarget = /(\]\()([^)\s]+)(?=\))/g;

function isRelative(target: string): boolean {
  return !/^(?:[a-z][a-z+.-]*:|#|\/\/)/i.test(target);
}

function absolute(text: string, directory: string): string {
  const { version, repository } = projectPackage();
  const home = repository.url.replace(/^git\+/, '').replace(/\.git$/, '');
  return text.replace(linkTarget, (whole, before: string, target: string) => {
    if (!isRelative(target)) return whole;
    const [path = '', anchor] = target.split('#');
    const place = posix.join(directory, path).replace(/\/$/, '');
    return `${before}${home}/blob/v${version}/${place}${anchor === undefined ? '' : `#${anchor}`}`;
  });
}
