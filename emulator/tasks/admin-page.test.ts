import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { installedChromium, launch } from '../../test/support/browser.ts';
import { adminPage } from './admin-page.ts';
import type { ShownState } from './shown-state.ts';

const queue = 'projects/local-project/locations/europe-west1/queues/svc-runs';

const state = {
  now: '2026-01-02T03:04:05.678Z',
  faults: { switches: { lose: { probability: 0.2, seed: 1 } }, struck: {} },
  queues: [
    {
      queue: { name: queue, state: 'RUNNING' },
      rateShare: 0.5,
      running: 1,
      ready: 2,
      taskCount: 1,
      tasks: [
        {
          name: `${queue}/tasks/${'0123456789abcdef'.repeat(4)}`,
          httpRequest: {
            httpMethod: 'POST',
            url: `http://127.0.0.1:5220/execution/dispatch/${'x'.repeat(80)}`,
          },
          scheduledAt: '2026-01-02T03:04:05.678Z',
          dispatchCount: 3,
          lastAttempt: { responseStatus: { message: 'HTTP 503 Service Unavailable' } },
        },
      ],
    },
  ],
  jobs: [
    {
      name: 'reconcile',
      schedule: '* * * * *',
      target: 'http://127.0.0.1:40001/reconcile',
      nextAt: '2026-01-02T03:05:00.000Z',
      running: false,
      skipped: 0,
      last: { endedAt: '2026-01-02T03:04:00.500Z', message: 'HTTP 200' },
    },
  ],
} as unknown as ShownState;

const chromium = installedChromium();
const pictures = join(import.meta.dirname, '../../dist/test-pictures');

const reason = chromium === undefined ? ' (skipped: no Chromium is installed)' : '';

test.skipIf(chromium === undefined)(
  `the page of queues fits a phone, names the column of each cell there, and is dark where the reader wants it${reason}`,
  async () => {
    mkdirSync(pictures, { recursive: true });
    const browser = await launch(chromium ?? '');
    try {
      for (const [width, colorScheme] of [
        [390, 'light'],
        [390, 'dark'],
        [1200, 'light'],
        [1200, 'dark'],
      ] as const) {
        const page = await browser.newPage({ viewport: { width, height: 844 }, colorScheme });
        await page.setContent(adminPage(state));
        await page.screenshot({ path: join(pictures, `tasks-${width}-${colorScheme}.png`), fullPage: true });
        const seen = await page.evaluate<{ overflow: number; text: string; label: string }>(`({
          overflow: document.documentElement.scrollWidth - innerWidth,
          text: getComputedStyle(document.body).color,
          label: getComputedStyle(document.querySelector('.tasks td'), '::before').content,
        })`);
        expect(seen, `${width} ${colorScheme}`).toEqual({
          overflow: 0,
          text: colorScheme === 'dark' ? 'rgb(255, 255, 255)' : 'rgb(0, 0, 0)',
          label: width === 390 ? '"Task: "' : 'none',
        });
        await page.close();
      }
    } finally {
      await browser.close();
    }
  },
  60_000,
);
