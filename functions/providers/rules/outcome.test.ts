import { describe, expect, test } from 'vitest';
import { type FailureClass, ProviderFailure } from '../failure.ts';
import { outcomeOfFailure, PROVIDER_GONE, type RunOutcome, succeeded, UNHANDLED } from './outcome.ts';
import { rejectionOf } from './rejection.ts';
import { endOf, jobStatusOf } from './run-result.ts';

const again = { isRetryable: true } as const;
const outcomeOf = (failureClass: FailureClass, word: string, more = {}) =>
  outcomeOfFailure(new ProviderFailure(failureClass, word, 'The provider failed.', more));

describe('the outcome of a call that failed', () => {
  test.each<[FailureClass, string, object, RunOutcome['status'], object]>([
    [
      'rate_limit',
      'rate_limited',
      { ...again, isOfGuard: true },
      'Rejected',
      { source: 'svc_policy', decisionAuthority: 'server_guardrail', processOutcome: 'not_started' },
    ],
    [
      'quota',
      'budget_spent',
      { ...again, isOfGuard: true },
      'Rejected',
      { source: 'svc_policy', retryRecommendation: 'retry_after_backoff' },
    ],
    [
      'provider_unavailable',
      'circuit_open',
      again,
      'Failed',
      { source: 'svc_policy', processOutcome: 'not_started', retryable: true },
    ],
    [
      'provider_unavailable',
      'http_503',
      again,
      'Failed',
      { source: 'provider_runtime', processOutcome: 'http_failure', retryable: true },
    ],
    [
      'rate_limit',
      'http_429',
      again,
      'Failed',
      { source: 'provider_runtime', decisionAuthority: 'provider_response_status' },
    ],
    ['network', 'connection_failed', again, 'Failed', { processOutcome: 'unknown', retryable: true }],
    ['timeout', 'server_timeout', again, 'TimedOut', { source: 'svc_policy', processOutcome: 'timed_out' }],
    [
      'auth',
      'http_401',
      {},
      'Failed',
      { retryable: false, retryRecommendation: 'do_not_retry', operatorReviewRecommended: true },
    ],
    [
      'configuration',
      'address_refused',
      {},
      'NotConfigured',
      { source: 'configuration', processOutcome: 'not_started', retryRecommendation: 'fix_configuration' },
    ],
    ['configuration', 'http_404', {}, 'NotConfigured', { processOutcome: 'http_failure' }],
    [
      'schema',
      'invalid_json',
      {},
      'Failed',
      {
        source: 'svc_classification',
        decisionAuthority: 'svc_structured_output_validation',
        structuredOutputValidationStatus: 'rejected',
        parsedOutputDisposition: 'not_capability_output',
        processOutcome: 'http_success',
      },
    ],
    [
      'schema',
      'output_limit',
      {},
      'Failed',
      { processOutcome: 'output_truncated', retryRecommendation: 'retry_with_smaller_input' },
    ],
    ['schema', 'http_400', {}, 'Failed', { processOutcome: 'http_failure' }],
    [
      'cancelled',
      'cancelled',
      {},
      'Cancelled',
      { processOutcome: 'cancelled', retryable: false, retryRecommendation: 'do_not_retry' },
    ],
    ['unknown', 'http_418', {}, 'Failed', { retryRecommendation: 'do_not_retry' }],
  ])('of the class %s with %s', (failureClass, word, more, status, rejection) => {
    const outcome = outcomeOf(failureClass, word, more);
    expect(outcome).toMatchObject({ status, failureClass, providerStatus: word, output: null });
    expect(rejectionOf(outcome)).toMatchObject({ category: word, ...rejection });
  });

  test('after the time limit names the time of the run', () => {
    expect(outcomeOf('timeout', 'client_timeout', again).providerStatus).toBe('server_timeout');
  });

  test('is absent for a success', () => {
    expect(rejectionOf(succeeded({ a: 1 }))).toBeNull();
  });

  test('of the service itself is marked as such', () => {
    expect(rejectionOf(UNHANDLED)).toMatchObject({ source: 'unknown', retryRecommendation: 'do_not_retry' });
    expect(rejectionOf(PROVIDER_GONE)).toMatchObject({ source: 'configuration' });
  });
});

describe('the status of a job', () => {
  test.each([
    ['queued', null, 'Queued'],
    ['waiting', null, 'Queued'],
    ['running', 'Succeeded', 'Running'],
    ['succeeded', 'Succeeded', 'Succeeded'],
    ['rejected', 'Unsupported', 'Unsupported'],
    ['rejected', 'NotConfigured', 'NotConfigured'],
    ['rejected', null, 'Rejected'],
    ['timed_out', null, 'TimedOut'],
    ['failed', null, 'Failed'],
    ['cancelled', null, 'Cancelled'],
  ] as const)('of a run that is %s with the result %s is %s', (run, result, status) => {
    expect(jobStatusOf(run, result)).toBe(status);
  });

  test('leads to an end of the run that is one of the runtime', () => {
    expect((['Failed', 'TimedOut', 'Rejected', 'Unsupported', 'Cancelled'] as const).map(endOf)).toEqual([
      'failed',
      'timed_out',
      'rejected',
      'rejected',
      'cancelled',
    ]);
  });
});
