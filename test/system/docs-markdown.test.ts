import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningService, startService } from '../support/service.ts';
import { root } from './program.ts';

/** The documentation as text for programs. */

let service: RunningService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

const get = (path: string, accept?: string) =>
  service.call({ method: 'GET', path, ...(accept === undefined ? {} : { headers: { Accept: accept } }) });
const source = (path: string) => readFileSync(join(root, 'docs', path), 'utf8');
const MARKDOWN = 'text/markdown; charset=utf-8';
// In Development pages of this machine may read the answers.
const VARY = 'Origin, Accept';
const files = globSync('**/*.md', { cwd: join(root, 'docs') }).map((path) => path.replaceAll('\\', '/'));

describe('the source of a page', () => {
  test('is under its address with .md, for every page', async () => {
    for (const path of files) {
      const { status, headers, body } = await get(`/docs/${path}`);
      expect([status, headers['content-type']], path).toEqual([200, MARKDOWN]);
      expect(body).toBe(source(path));
    }
  });

  test.each([
    ['/docs/index.md', 'README.md'],
    ['/docs/guides.md', 'README.md'],
    ['/docs/guides/index.md', 'guides/README.md'],
    ['/docs/decisions/index.md', 'decisions/README.md'],
  ])('is at %s, where the page has another name than its file', async (address, path) => {
    const { status, headers, body } = await get(address);
    expect([status, headers['content-type'], body]).toEqual([200, MARKDOWN, source(path)]);
    const html = await get(address.replace(/\.md$/, ''));
    expect([html.status, html.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
  });

  test('is what the address without the ending answers to a program, for every page', async () => {
    for (const path of files.filter((name) => name !== 'README.md')) {
      const address = `/docs/${path.replace(/README\.md$/, 'index.md').replace(/\.md$/, '')}`;
      const { headers, body } = await get(address, 'text/markdown');
      expect([headers['content-type'], body], address).toEqual([MARKDOWN, source(path)]);
    }
  });

  test.each([
    ['text/markdown', MARKDOWN],
    ['text/html;q=0.9, Text/Markdown ; q=0.9', MARKDOWN],
    ['text/markdown, */*', MARKDOWN],
    ['text/html, text/markdown;q=0.5', 'text/html; charset=utf-8'],
    ['text/markdown;q=0', 'text/html; charset=utf-8'],
    ['text/markdown;q=high', 'text/html; charset=utf-8'],
    ['text/html,application/xhtml+xml,*/*;q=0.8', 'text/html; charset=utf-8'],
    ['*/*', 'text/html; charset=utf-8'],
  ])('answers Accept: %s with %s', async (accept, mediaType) => {
    const { status, headers, body } = await get('/docs/guides/fences', accept);
    expect([status, headers['content-type'], headers['vary']]).toEqual([200, mediaType, VARY]);
    if (mediaType.startsWith('text/markdown')) expect(body).toBe(source('guides/fences.md'));
  });

  test('is what the page of contents answers too, and each page links to it', async () => {
    expect((await get('/docs/guides', 'text/markdown')).body).toBe(source('README.md'));
    for (const name of ['databases', 'guides/index', 'reference/errors']) {
      const [, href = ''] =
        /<a rel="alternate" type="text\/markdown" href="([^"]+)"/.exec((await get(`/docs/${name}`)).body) ??
        [];
      expect((await get(href)).headers['content-type']).toBe(MARKDOWN);
    }
  });

  test('depends on the origin as well for a page of another origin', async () => {
    const origin = 'https://app.example.com';
    const open = await startService({ settings: { 'Cors:AllowedOrigins:0': origin } });
    for (const Accept of ['text/html', 'text/markdown']) {
      const headers = { Accept, Origin: origin };
      const page = await open.call({ method: 'GET', path: '/docs/faq', headers });
      expect([page.status, page.headers['vary']]).toEqual([200, VARY]);
      const tag = { ...headers, 'If-None-Match': String(page.headers['etag']) };
      const known = await open.call({ method: 'GET', path: '/docs/faq', headers: tag });
      expect([known.status, known.headers['vary']]).toEqual([304, VARY]);
    }
    await open.close();
  });

  test('has a tag of its own, so that a cache keeps both', async () => {
    const [html, markdown] = await Promise.all([get('/docs/faq'), get('/docs/faq', 'text/markdown')]);
    expect(html.headers['etag']).not.toBe(markdown.headers['etag']);
    const tag = String(html.headers['etag']);
    const again = (accept: string) =>
      service.call({ method: 'GET', path: '/docs/faq', headers: { Accept: accept, 'If-None-Match': tag } });
    const [known, other] = await Promise.all([again('text/html'), again('text/markdown')]);
    expect([known.status, known.headers['vary'], known.body]).toEqual([304, VARY, '']);
    expect([other.status, other.headers['content-type']]).toEqual([200, MARKDOWN]);
  });

  test.each([
    '/docs/unknown.md',
    '/docs/guides/unknown.md',
    '/docs/guides.md.md',
    '/docs/index.md.md',
    '/docs/faq.MD',
    '/docs/%2e%2e/README.md',
    '/docs/..%2fREADME.md',
    '/docs/..%5cREADME.md',
    '/docs/http/canonical.http',
    '/llms.txt/',
    '/llms.md',
  ])('does not exist at %s: a problem document, to a program as well', async (path) => {
    const { headers, ...answer } = await get(path, 'text/markdown');
    expect(headers['content-type']).toBe('application/problem+json');
    expect(answer.json()).toMatchObject({ status: 404, code: 'route_not_found' });
  });

  test.each(['HEAD', 'POST'])('takes no %s, like every page', async (method) => {
    for (const path of ['/docs/faq.md', '/llms.txt']) {
      const { status, headers } = await service.call({ method, path });
      expect([status, headers['allow']], path).toEqual([405, 'GET']);
    }
  });
});

describe('/llms.txt', () => {
  test('names every page of the contents once, by an address that answers Markdown', async () => {
    const { status, headers, body } = await get('/llms.txt');
    expect([status, headers['content-type']]).toEqual([200, 'text/plain; charset=utf-8']);
    expect(body).toMatch(/^# svc [\d.]+\n\n> [^\n]+\n/);
    expect(Buffer.byteLength(body)).toBeLessThan(20_000);
    const links = [...body.matchAll(/^- \[[^\]]+\]\((\/docs\/[^)]+\.md)\): (.+)$/gm)];
    const addresses = links.map(([, address = '']) => address);
    const listed = files.filter((path) => path !== 'README.md' && !/^decisions\/\d/.test(path));
    expect(addresses.toSorted()).toEqual(listed.map((path) => `/docs/${path}`).toSorted());
    for (const [, address = '', summary = ''] of links) {
      expect((await get(address)).headers['content-type']).toBe(MARKDOWN);
      expect(summary.length, address).toBeLessThanOrEqual(200);
    }
    for (const path of ['/openapi/svc.json', '/contracts/schemas/svc-public.schema.json', '/llms-full.txt']) {
      expect(body).toContain(path);
      expect((await get(path)).status).toBe(200);
    }
  });
});

describe('/llms-full.txt', () => {
  test('holds the guides, at most 300 kB, and names the pages that it does not hold', async () => {
    const { status, body } = await get('/llms-full.txt');
    expect(status).toBe(200);
    expect(Buffer.byteLength(body)).toBeLessThanOrEqual(300_000);
    const [pages = '', rest = ''] = body.split('\n# Pages that are not in this file\n');
    const held = [...pages.matchAll(/^<!-- \/docs\/(.+) -->$/gm)].map(([, path = '']) => path);
    const named = [...rest.matchAll(/\]\(\/docs\/([^)]+)\)/g)].map(([, path = '']) => path);
    for (const path of files.filter((name) => name.startsWith('guides/'))) expect(held).toContain(path);
    for (const path of held) expect(pages).toContain(source(path).trim());
    const listed = files.filter((path) => path !== 'README.md' && !/^decisions\/\d/.test(path));
    expect([...held, ...named].toSorted()).toEqual(listed.toSorted());
  });
});

test('the schema of settings files is served', async () => {
  const { status, headers, body } = await get('/docs/reference/svcsettings.schema.json');
  expect([status, headers['content-type']]).toEqual([200, 'application/schema+json']);
  expect(body).toBe(source('reference/svcsettings.schema.json'));
});
