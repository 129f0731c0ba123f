import type {
  CanonicalDataPlanePreflightCheck,
  CanonicalDataPlanePreflightResult,
  CanonicalPreflightReport,
} from '../../../../contracts/generated/models.ts';
import type { CanonicalAccessOperation } from '../../../identity/canonical-access.ts';
import { formatUtc } from '../../../kernel/timestamp.ts';
import type { CanonicalConfiguration } from '../dependencies.ts';

/** Operations of a grant, in the order in which operators write them. */
const REQUIRED_OPERATIONS = [
  'read',
  'write',
  'dispatch',
  'export',
  'restore',
  'admin',
] as const satisfies readonly CanonicalAccessOperation[];

/** The results of a read of the store. */
export interface StoreFindings {
  readonly store: string;
  readonly migrationReceiptCount: number;
}

/** The proofs of the probe. A check that could not run proves nothing. */
export interface ProbeFindings {
  readonly restored: boolean;
  readonly isolated: boolean;
  readonly cleaned: boolean;
  readonly archiveChunkCount: number;
}

/** Fixed texts and counts only: no text of a tenant, a payload or an error enters the report. */
export function preflightReport(
  configuration: CanonicalConfiguration,
  { store, migrationReceiptCount }: StoreFindings,
  dataPlaneProbe: CanonicalDataPlanePreflightResult | null,
): CanonicalPreflightReport {
  const { provider, authenticationMode, tenantPoliciesEnforced, identityPolicyCount, rateLimit } =
    configuration;
  return {
    store,
    provider,
    authenticationMode,
    tenantPoliciesEnforced,
    identityPolicyCount,
    migrationReceiptCount,
    rateLimitPermitLimit: rateLimit.permitLimit,
    rateLimitWindowSeconds: rateLimit.windowSeconds,
    requiredOperations: REQUIRED_OPERATIONS,
    dataPlaneProbe,
  };
}

/** Outside Development the status is 503 if no policy guards the tenants of the store. */
export function preflightStatus(
  { development }: CanonicalConfiguration,
  { tenantPoliciesEnforced, dataPlaneProbe }: CanonicalPreflightReport,
): 200 | 503 {
  const guarded = tenantPoliciesEnforced || development;
  return guarded && dataPlaneProbe?.ready !== false ? 200 : 503;
}

export function probeResult(
  findings: ProbeFindings,
  startedAt: number,
  durationMs: number,
): CanonicalDataPlanePreflightResult {
  const { restored, isolated, cleaned, archiveChunkCount } = findings;
  const ready = restored && isolated && cleaned;
  return {
    profile: 'svc.canonical.data-plane-preflight.v1',
    ready,
    status: ready ? 'passed' : 'failed',
    scope: 'isolated_ephemeral_tenants',
    checkedAtUtc: formatUtc(startedAt),
    // The clock may have been set back during the probe.
    durationMs: Math.max(0, Math.round(durationMs)),
    archiveChunkCount,
    backupRestoreVerified: restored,
    tenantIsolationVerified: isolated,
    cleanupVerified: cleaned,
    checks: [
      check('canonical.archive_restore', restored),
      check('canonical.tenant_isolation', isolated),
      check('canonical.probe_cleanup', cleaned),
    ],
  };
}

const texts = {
  'canonical.archive_restore': {
    passed: 'A chunked archive brought the first ephemeral tenant back as it was.',
    failed: 'It could not be shown that a chunked archive brings the first ephemeral tenant back as it was.',
  },
  'canonical.tenant_isolation': {
    passed: 'The second ephemeral tenant stayed as it was while the first one was changed and brought back.',
    failed:
      'It could not be shown that the second ephemeral tenant stayed as it was while the first one was changed and brought back.',
  },
  'canonical.probe_cleanup': {
    passed: 'Both ephemeral tenants are empty again.',
    failed: 'Emptying both ephemeral tenants did not succeed at once; records of the probe may be left.',
  },
} as const;

function check(id: keyof typeof texts, passed: boolean): CanonicalDataPlanePreflightCheck {
  const status = passed ? 'passed' : 'failed';
  return { id, status, message: texts[id][status] };
}
