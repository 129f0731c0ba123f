import { expect, test } from 'vitest';
import { ProviderFailure } from '../failure.ts';
import { answeredLine, failingLine } from './patience-lines.ts';

const job = { runId: 'r1', handlerId: 'svc.rag.ingestion.text' };
const since = Date.UTC(2026, 0, 2, 3, 4, 5);
const times = { since, nextTryAt: since + 2_000, patienceMs: 900_000 };

test('the first line of a row of failures names the failure, the next try and the end of the patience', () => {
  const failure = new ProviderFailure('provider_unavailable', 'http_503', 'a message of the service');
  expect(failingLine(job, failure, times)).toEqual({
    severity: 'WARNING',
    message: 'A job waits for a provider that fails',
    runId: 'r1',
    handlerId: 'svc.rag.ingestion.text',
    failureClass: 'provider_unavailable',
    code: 'http_503',
    status: 503,
    nextTryAt: '2026-01-02T03:04:07.000Z',
    patienceEndsAt: '2026-01-02T03:19:05.000Z',
  });
});

test.each(['connection_failed', 'circuit_open', 'http_50', 'http_5030'])('%s names no status', (word) => {
  const line = failingLine(job, new ProviderFailure('network', word, ''), times);
  expect(line).toMatchObject({ code: word });
  expect(line).not.toHaveProperty('status');
});

test('the last line names the time and the number of the failures', () => {
  expect(answeredLine(job, { since, failures: 3 }, since + 22_000)).toEqual({
    severity: 'INFO',
    message: 'The provider that a job waited for has answered',
    durationMs: 22_000,
    count: 3,
    runId: 'r1',
    handlerId: 'svc.rag.ingestion.text',
  });
  // The clock was set back.
  expect(answeredLine(job, { since, failures: 1 }, since - 1)).toMatchObject({ durationMs: 0 });
});
