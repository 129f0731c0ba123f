import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import openApi from '../../contracts/generated/openapi/svc.json' with { type: 'json' };
import { reference } from '../../functions/groups/server/docs/reference.ts';
import description from '../../package.json' with { type: 'json' };
import { installedChromium, launch, openPage } from '../support/browser.ts';
import { type ServerProcess, startServer } from '../support/server-process.ts';
import { root } from './program.ts';

/** The page `/docs` in a browser, on a server of its own. */

const chromium = installedChromium();
if (chromium === undefined && process.env['CI'] !== undefined)
  throw new Error('There is no Chromium: on Debian `apt-get install chromium` brings one.');

const folder = mkdtempSync(join(tmpdir(), 'svc-docs-page-'));
const pictures = join(root, 'dist/docs-page');
let server: ServerProcess;
let browser: Browser | undefined;

beforeAll(async () => {
  mkdirSync(pictures, { recursive: true });
  server = await startServer({ SVC_DATA_DIR: folder });
  if (chromium !== undefined) browser = await launch(chromium);
});
afterAll(async () => {
  await browser?.close();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

const operations = Object.entries(openApi.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, { operationId, summary }]) => ({
    path,
    method,
    operationId,
    summary,
  })),
);

function opened(): Browser {
  if (browser === undefined) throw new Error('there is no browser');
  return browser;
}

async function openReference(page: Page): Promise<void> {
  await page.goto(`${server.address}/docs`);
  await page.getByRole('complementary').getByRole('link', { name: 'Commit a transaction' }).waitFor();
}

/** Opens the window in which the operation can be tried. */
async function openTrial(page: Page, summary: string, request: string) {
  await page.getByRole('complementary').getByRole('link', { name: summary }).click();
  await page.getByRole('button', { name: `Test Request (${request})` }).click();
  const trial = page.getByRole('dialog', { name: 'API Client' });
  await trial.waitFor();
  return trial;
}

/** The guides run nothing. */
async function openGuide(page: Page): Promise<void> {
  await page.getByRole('banner').getByRole('link', { name: 'Guides' }).click();
  await page.getByRole('link', { name: 'Databases', exact: true }).click();
  await page.getByRole('heading', { name: 'Databases', level: 1 }).waitFor();
  expect(await page.locator('script').count()).toBe(0);
}

/** Where links lead beyond the server, and buttons that would: what the API reference's makers offer beside it. */
async function leadsOut(page: Page) {
  const links = await page.evaluate<string[]>(
    '[...new Set([...document.links].map((link) => link.href))].filter((href) => !href.startsWith(location.origin))',
  );
  const buttons = page.getByRole('button', {
    name: /Ask AI|Agent|MCP|VS Code|Cursor|Developer Tools|Share|Deploy/,
  });
  return { links, buttons: await buttons.allInnerTexts() };
}

/** The luminance of the background of the page, between 0 and 1. */
async function luminance(page: Page): Promise<number> {
  const colour = await page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
  const [red = Number.NaN, green = Number.NaN, blue = Number.NaN] = (colour.match(/[\d.]+/g) ?? []).map(
    Number,
  );
  return (red + green + blue) / (3 * 255);
}

describe.skipIf(chromium === undefined)(
  'the page /docs in a browser (left out where there is no Chromium)',
  () => {
    test.each(['light', 'dark'] as const)(
      'shows every operation and leads to the guides, in the %s',
      async (colorScheme) => {
        const { page, requested, complaints } = await openPage(opened(), { colorScheme });
        await openReference(page);
        expect(await page.title()).toBe(`svc ${description.version} · API reference`);
        await page.getByRole('banner').getByText(description.version).waitFor();
        // One reading of the accessible names: each look-up by role computes those of the whole page.
        const shown = await page.getByRole('complementary').ariaSnapshot();
        for (const { method, summary } of operations) {
          // The page shortens one word of them.
          const word = method === 'delete' ? 'DEL' : method.toUpperCase();
          expect(shown).toContain(`link "${summary} HTTP Method: ${word}"`);
        }
        expect(await leadsOut(page)).toEqual({ links: ['https://www.scalar.com/'], buttons: [] });
        await page.screenshot({ path: join(pictures, `top-${colorScheme}.png`) });
        await page.getByRole('complementary').getByRole('link', { name: 'Commit a transaction' }).click();
        await page.getByText('commitCanonicalTransaction', { exact: true }).waitFor();
        await page.screenshot({ path: join(pictures, `commit-${colorScheme}.png`) });
        const brightness = await luminance(page);
        expect(colorScheme === 'dark' ? 1 - brightness : brightness).toBeGreaterThan(0.9);
        expect(await complaints()).toEqual([]);
        await openGuide(page);
        await page.screenshot({ path: join(pictures, `guide-${colorScheme}.png`) });
        expect(elsewhere(requested)).toEqual([]);
        expect(await complaints()).toEqual([]);
        await page.context().close();
      },
    );

    test('shows each operation with curl and the two clients alone', async () => {
      const { page, requested, complaints } = await openPage(opened());
      await openReference(page);
      await page.getByRole('complementary').getByRole('link', { name: 'Commit a transaction' }).click();
      const operation = page.getByRole('region', { name: 'Commit a transaction' });
      await operation.getByRole('button', { name: 'curl', exact: true }).click();
      const choices = page.getByRole('option');
      await choices.first().waitFor();
      expect(await choices.allInnerTexts()).toEqual(['curl', 'TypeScript', 'Python']);
      await page.getByRole('option', { name: 'Python' }).click();
      await operation.getByText('client.commit_canonical_transaction(').waitFor();
      await page.screenshot({ path: join(pictures, 'samples.png') });
      expect(elsewhere(requested)).toEqual([]);
      expect(await complaints()).toEqual([]);
      await page.context().close();
    });

    test('tries GET /health and shows the answer', async () => {
      const { page, requested, complaints } = await openPage(opened());
      await openReference(page);
      const trial = await openTrial(page, 'Check that the process answers', 'get /health');
      expect(requested.filter((address) => address.endsWith('/health'))).toEqual([]);
      await trial.getByRole('button', { name: 'Send' }).first().click();
      const answer = trial.getByRole('region', { name: 'Response', exact: true });
      await answer.getByText('200 OK').waitFor();
      await answer.getByText(`"${description.version}"`).waitFor();
      await page.screenshot({ path: join(pictures, 'health.png') });
      expect(requested.filter((address) => address === `${server.address}/health`)).toHaveLength(1);
      expect(elsewhere(requested)).toEqual([]);
      expect(await complaints()).toEqual([]);
      await page.context().close();
    });

    test('tries a commit with the example as it stands, which the store then has', async () => {
      const { page, requested, complaints } = await openPage(opened(), { colorScheme: 'dark' });
      const document = `${server.address}/canonical/tenants/acme/documents/order/order-1001`;
      expect((await fetch(document)).status).toBe(404);
      await openReference(page);
      const trial = await openTrial(
        page,
        'Commit a transaction',
        'post /canonical/tenants/{tenantId}/transactions',
      );
      const answer = trial.getByRole('region', { name: 'Response', exact: true });
      await trial.getByRole('button', { name: 'Send' }).first().click();
      await answer.getByText('200 OK').waitFor();
      await answer.getByText('"transactionId"').first().waitFor();
      await page.screenshot({ path: join(pictures, 'committed.png') });
      expect(await (await fetch(document)).json()).toMatchObject({ revision: 1, data: { total: 12.5 } });
      expect(elsewhere(requested)).toEqual([]);
      expect(await complaints()).toEqual([]);
      await page.context().close();
    });
  },
);

/** Requests to other servers; a `data:` or `blob:` address makes no request. */
function elsewhere(requested: readonly string[]): readonly string[] {
  expect(requested.length).toBeGreaterThan(1);
  return requested.filter(
    (address) => !address.startsWith(`${server.address}/`) && !/^(data|blob):/.test(address),
  );
}

test('the API reference comes as it is kept, compressed, to clients that accept it', async () => {
  const page = await (await fetch(`${server.address}/docs`)).text();
  const [, path = ''] = /<script src="(\/docs\/reference-[^"]+)"/.exec(page) ?? [];
  const answer = await fetch(`${server.address}${path}`);
  expect(answer.headers.get('content-encoding')).toBe('gzip');
  const bytes = new Uint8Array(await answer.arrayBuffer());
  expect(createHash('sha256').update(bytes).digest('hex')).toBe(reference.sha256);
});
