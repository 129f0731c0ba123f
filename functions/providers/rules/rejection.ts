import type { ProviderRunRejectionDiagnostic } from '../../../contracts/generated/models.ts';
import type { RunFailureClass } from './capabilities.ts';
import type { RunOutcome } from './outcome.ts';

/** Advice for the caller of an unsuccessful run. */
type Rejection = ProviderRunRejectionDiagnostic;

/** `null` for a success. */
export function rejectionOf(outcome: RunOutcome): Rejection | null {
  const { failureClass, providerStatus, message } = outcome;
  if (failureClass === null) return null;
  const retryRecommendation = recommendationOf(failureClass, providerStatus);
  return {
    source: sourceOf(outcome, failureClass),
    category: providerStatus,
    message: message ?? 'The run did not succeed.',
    contentUsable: false,
    // The service drops an answer of the wrong shape where it detects it.
    parsedOutputPresent: false,
    structuredOutputAccepted: false,
    structuredOutputValidationStatus: isWrongAnswer(outcome) ? 'rejected' : null,
    parsedOutputDisposition: isWrongAnswer(outcome) ? 'not_capability_output' : 'none',
    decisionAuthority: authorityOf(outcome),
    processOutcome: processOutcomeOf(outcome),
    retryable: outcome.isRetryable || retryRecommendation === 'retry_after_backoff',
    retryRecommendation,
    operatorReviewRecommended: retryRecommendation === 'operator_review' || failureClass === 'auth',
  };
}

const sizes: ReadonlySet<string> = new Set(['input_limit', 'output_limit', 'output_limit_exceeds_policy']);
const times: ReadonlySet<string> = new Set(['timeout_exceeds_policy', 'invalid_timeout']);
const passing: ReadonlySet<RunFailureClass> = new Set([
  'rate_limit',
  'timeout',
  'network',
  'quota',
  'provider_unavailable',
]);

function recommendationOf(
  failureClass: RunFailureClass,
  providerStatus: string,
): Rejection['retryRecommendation'] {
  if (failureClass === 'unsupported') return 'use_supported_capability';
  if (failureClass === 'configuration') return 'fix_configuration';
  if (sizes.has(providerStatus) || times.has(providerStatus)) return 'retry_with_smaller_input';
  if (failureClass === 'schema') return 'retry_with_stricter_structured_output_instructions';
  if (passing.has(failureClass)) return 'retry_after_backoff';
  if (failureClass === 'policy') return 'retry_with_redacted_input';
  return failureClass === 'trust' ? 'operator_review' : 'do_not_retry';
}

function sourceOf({ reached, status }: RunOutcome, failureClass: RunFailureClass): Rejection['source'] {
  if (failureClass === 'unsupported') return 'unsupported';
  if (failureClass === 'configuration') return 'configuration';
  if (failureClass === 'schema') return 'svc_classification';
  if (reached === 'guard' || (reached === 'nothing' && status === 'Rejected')) return 'svc_policy';
  if (failureClass === 'timeout' && reached !== 'answer') return 'svc_policy';
  if (failureClass === 'policy') return 'provider_policy';
  return failureClass === 'unknown' && reached === 'nothing' ? 'unknown' : 'provider_runtime';
}

function authorityOf(outcome: RunOutcome): Rejection['decisionAuthority'] {
  const { reached, status } = outcome;
  if (reached === 'guard' || status === 'TimedOut') return 'server_guardrail';
  if (reached === 'nothing') return status === 'Failed' ? 'unknown' : 'svc_preflight';
  return isWrongAnswer(outcome) ? 'svc_structured_output_validation' : 'provider_response_status';
}

function processOutcomeOf({
  reached,
  status,
  failureClass,
  providerStatus,
}: RunOutcome): Rejection['processOutcome'] {
  if (status === 'Cancelled') return 'cancelled';
  if (reached === 'nothing' || reached === 'guard') return 'not_started';
  if (status === 'TimedOut') return 'timed_out';
  if (providerStatus === 'output_limit') return 'output_truncated';
  if (reached === 'answer') return 'http_success';
  return failureClass === 'network' ? 'unknown' : 'http_failure';
}

function isWrongAnswer({ reached, failureClass }: RunOutcome): boolean {
  return reached === 'answer' && failureClass === 'schema';
}
