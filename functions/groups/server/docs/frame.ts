import type { Release } from '../dependencies.ts';
import { pathOf } from '../health.ts';

/** The parts that all pages below `/docs` share. */

export const guidesPath = '/docs/guides';
export const searchPath = '/docs/search';

/** The address of a page or of a link to one, without the name of its file: `guides/README.md#x` is `guides/index#x`. */
export function cleanAddress(href: string): string {
  return href.replace(/README\.md(?=#|$)/, 'index').replace(/\.md(?=#|$)/, '');
}

export function documentStart(title: string, style: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)}</title>
<link rel="icon" href="${icon}">
<link rel="stylesheet" href="${style}">
</head>`;
}

const links = [
  ['API reference', '/docs'],
  ['Guides', guidesPath],
  ['Search', searchPath],
  ['OpenAPI', pathOf('getOpenApiContract')],
  ['JSON Schema', pathOf('getPublicSchemaContract')],
] as const;

export function bar({ service, version }: Release): string {
  const anchors = links.map(([text, path]) => `<a href="${path}">${text}</a>`);
  return `<header class="bar">\n<strong>${service}<small>${version}</small></strong>\n${anchors.join('\n')}\n</header>`;
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"]/g, (character) => entities[character] ?? character);
}

const icon =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Crect width='16' height='16' rx='3' fill='%23246'/%3E%3Cpath d='M4 5h8M4 8h8M4 11h5' stroke='white' stroke-width='1.5'/%3E%3C/svg%3E";
