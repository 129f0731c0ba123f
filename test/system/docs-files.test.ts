import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { reference } from '../../functions/groups/server/docs/reference.ts';
import description from '../../package.json' with { type: 'json' };
import { type RunningService, startService } from '../support/service.ts';
import { root } from './program.ts';

/** The files served below `/docs`, and the paths that are refused. */

let service: RunningService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

const get = (path: string, from = service) => from.call({ method: 'GET', path });

/** The addresses that a page loads, in its order. */
async function loadedBy(path: string): Promise<string[]> {
  const { body } = await get(path);
  return [...body.matchAll(/<(?:script src|link rel="stylesheet" href)="([^"]+)"/g)].map(
    ([, address = '']) => address,
  );
}

describe('the page', () => {
  test('loads from its own origin only, by its Content-Security-Policy', async () => {
    const { status, headers, body } = await get('/docs');
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy':
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
    });
    expect(body).toContain(`<title>svc ${description.version} · API reference</title>`);
    expect(body).not.toMatch(
      /<script(?! src=)|<style|\sstyle=|\son[a-z]+=|https?:(?!\/\/www\.w3\.org\/2000\/svg)/,
    );
  });

  test('names its files by their content, so that caches may keep them for ever', async () => {
    const files = await loadedBy('/docs');
    expect(files).toEqual([
      expect.stringMatching(/^\/docs\/page-[0-9a-f]{16}\.css$/),
      expect.stringMatching(/^\/docs\/start-[0-9a-f]{16}\.js$/),
      `/docs/reference-${reference.version}-${reference.sha256.slice(0, 16)}.js`,
    ]);
    for (const file of files) {
      const { status, headers, body } = await get(file);
      expect(status).toBe(200);
      expect(headers).toMatchObject({
        'cache-control': 'public, max-age=31536000, immutable',
        'content-type': `text/${file.endsWith('.css') ? 'css' : 'javascript'}; charset=utf-8`,
        'x-content-type-options': 'nosniff',
      });
      if (headers['content-encoding'] === undefined)
        expect(file).toContain(createHash('sha256').update(body).digest('hex').slice(0, 16));
    }
  });

  test('configures the API reference to call no other server', async () => {
    const [, start = ''] = await loadedBy('/docs');
    const { body } = await get(start);
    const [, settings = ''] = /createApiReference\('#reference', (\{.*\})\)/.exec(body) ?? [];
    expect(JSON.parse(settings)).toMatchObject({
      url: '/docs/openapi.json',
      hiddenClients: true,
      withDefaultFonts: false,
      telemetry: false,
      agent: { disabled: true },
      mcp: { disabled: true },
      showDeveloperTools: 'never',
      hideClientButton: true,
      persistAuth: false,
    });
    expect(settings).not.toContain('proxy');
  });

  test('asks no credential, and is not counted by the limit of requests', async () => {
    const settings = { 'Server:ApiKey': 'k'.repeat(32), 'Server:CanonicalRateLimit:PermitLimit': '1' };
    const guarded = await startService({ settings });
    const statuses = await Promise.all([1, 2, 3].map(async () => (await get('/docs', guarded)).status));
    await guarded.close();
    expect(statuses).toEqual([200, 200, 200]);
  });
});

describe('the file of others', () => {
  const path = join(root, 'functions/docs', reference.file);

  test('has the checksum of the package', () => {
    const text = gunzipSync(readFileSync(path));
    expect(createHash('sha256').update(text).digest('hex')).toBe(reference.sha256);
    expect(reference.integrity).toMatch(/^sha512-[A-Za-z0-9+/]{86}==$/);
  });

  test('is no larger than is known, and comes with its licence', () => {
    expect(statSync(path).size).toBeLessThan(1_300_000);
    const notice = readFileSync(join(root, 'functions/docs/NOTICE.txt'), 'utf8');
    expect(notice).toContain(`${reference.package} ${reference.version}`);
    expect(notice).toContain('MIT License');
  });
});

describe('the guides', () => {
  test('are listed, and every link on them leads to something', async () => {
    const open = ['/docs/guides'];
    const seen = new Set(open);
    const broken: string[] = [];
    for (let path = open.pop(); path !== undefined; path = open.pop()) {
      const { status, headers, body } = await get(path);
      if (status !== 200) broken.push(`${path}: ${status}`);
      if (!path.startsWith('/docs/')) continue;
      const ids = new Set([...body.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id));
      if (headers['content-type']?.startsWith('text/html') !== true) continue;
      expect(headers['content-security-policy'], path).toBe(
        "default-src 'none'; style-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
      );
      for (const [, href = ''] of body.matchAll(/<a href="([^"]+)"/g)) {
        const { origin, pathname, hash } = new URL(href, `http://svc.invalid${path}`);
        if (origin !== 'http://svc.invalid') continue;
        if (pathname === path && hash !== '' && !ids.has(decodeURIComponent(hash.slice(1))))
          broken.push(`${path}${hash}`);
        if (seen.has(pathname) || pathname === '/docs') continue;
        seen.add(pathname);
        open.push(pathname);
      }
    }
    expect(broken).toEqual([]);
    for (const path of [
      '/docs/databases',
      '/docs/reference/errors',
      '/docs/decisions/0001-record-store-port',
      '/docs/guides/first-commit',
      '/docs/guides/index',
    ])
      expect([...seen]).toContain(path);
    expect([...seen].filter((path) => path.startsWith('/docs/') && path.endsWith('.md'))).toEqual([]);
  });

  test('are found by the search under the same addresses', async () => {
    const { body } = await get('/docs/search?q=fence');
    const found = [...body.matchAll(/<li><a href="([^"#]+)#/g)].map(([, address = '']) => address);
    expect(found).toContain('/docs/guides/fences');
    expect(found.filter((address) => address.endsWith('.md'))).toEqual([]);
  });
});

describe('a path without a file', () => {
  test.each([
    '/docs/',
    '/DOCS',
    '/docs/reference.js.gz',
    '/docs/NOTICE.txt',
    '/docs/page.css',
    '/docs/toString',
    '/docs/__proto__',
    '/docs/guides/',
    '/docs/databases.html',
    '/docs/databases/',
    '/docs/reference/settings.schema.json',
    '/docs/..%2f..%2fpackage.json',
    '/docs/%2e%2e/package.json',
    '/docs/%2e%2e%2fdocs.ts',
    '/docs/..%5c..%5cpackage.json',
    '/docs/%252e%252e%252fpackage.json',
    '/docs/databases.md%00',
    '/docs/databases%2emd',
    '/docs/%64atabases.md',
    '/docs/reference%2Ferrors.md',
    '/docs/databases.md;/../../package.json',
    '/docs/file:%2F%2F%2Fetc%2Fpasswd',
    '/docs/~root',
  ])('%s', async (path) => {
    const { status, headers, body } = await get(path);
    // Dot segments that no encoding hides are refused wherever they stand.
    const refused = path.includes('/../');
    expect([status, JSON.parse(body)]).toEqual(
      refused
        ? [400, expect.objectContaining({ code: 'invalid_path_segment' })]
        : [404, expect.objectContaining({ code: 'route_not_found' })],
    );
    expect(headers['content-security-policy']).toBeUndefined();
  });

  test.each([
    '/docs/../package.json',
    '/docs/./databases.md',
    '/docs//databases.md',
    '/docs/\\..\\package.json',
  ])('%s, which is no path', async (path) => {
    const { status, body } = await get(path);
    expect([status, JSON.parse(body)]).toEqual([
      400,
      expect.objectContaining({ code: 'invalid_path_segment' }),
    ]);
  });

  test.each(['POST', 'PUT', 'DELETE', 'HEAD'])('%s', async (method) => {
    const { status, headers } = await service.call({ method, path: '/docs' });
    expect([status, headers['allow']]).toEqual([405, 'GET']);
  });

  test('a query', async () => {
    expect((await get('/docs?url=https://elsewhere.example/openapi.json')).status).toBe(400);
  });
});

describe('where Docs:Enabled is false', () => {
  test.each([
    ['as it says', { 'Docs:Enabled': 'false' }],
    ['because it is not Development', { Environment: 'Production', 'CanonicalStore:Enabled': 'false' }],
  ])('there is nothing, %s', async (_, settings) => {
    const texts = ['/llms.txt', '/llms-full.txt', '/docs/reference/svcsettings.schema.json'];
    const files = ['/docs', '/docs/guides', '/docs/databases.md', ...texts, ...(await loadedBy('/docs'))];
    const closed = await startService({ settings });
    const answers = await Promise.all(files.map((path) => get(path, closed)));
    const banner = await get('/', closed);
    await closed.close();
    for (const answer of answers)
      expect(answer.json()).toMatchObject({ status: 404, code: 'route_not_found' });
    expect(banner.body).not.toContain('/docs');
    expect((await get('/')).body).toContain('/docs');
  });

  test('it can be enabled anywhere', async () => {
    const settings = { Environment: 'Production', 'CanonicalStore:Enabled': 'false', 'Docs:Enabled': 'true' };
    const opened = await startService({ settings });
    const { status } = await get('/docs', opened);
    await opened.close();
    expect(status).toBe(200);
  });
});
