import catalog from '../../contracts/catalog.json' with { type: 'json' };
import type { ApiOperation } from './catalog.ts';

/** The inputs of a call that decide who may make it. */
export interface AccessInputs {
  readonly params: readonly string[];
  readonly body: Buffer | null;
}

interface AuthorizationClass {
  readonly settings: string | null;
}

/**
 * Explains a 403: the right that the operation needs and the settings section that grants it. The service does not say which
 * part of a grant is missing, so these lines come from the contract and from the request alone.
 */
export function accessLines({ id, entry }: ApiOperation, { params, body }: AccessInputs): string[] {
  const classes: Readonly<Record<string, AuthorizationClass>> = catalog.authorizationClasses;
  const settings = classes[entry.authorizationClass]?.settings ?? null;
  if (settings === null || entry.accessOperation === null) return [];
  const tenant = params.find((param) => param.startsWith('tenantId='))?.slice('tenantId='.length);
  const place = tenant === undefined ? '' : ` for the tenant ${tenant}`;
  const lines = [
    `  ${id} needs the right ${entry.accessOperation}${place}: a policy under ${settings} must grant it to this caller.`,
  ];
  if (entry.accessOperation === 'worker')
    lines.push('  Such a policy names a WorkerId: the request must name the same worker.');
  if (settings.endsWith('ExecutionAccess') && entry.accessOperation !== 'maintenance')
    lines.push(
      '  It covers its product, and the tenants and handlers that it lists: the request must stay within them.',
    );
  if (entry.accessOperation === 'start_run' && body !== null && !hasScope(body))
    lines.push(
      '  The body names no scope, and a policy grants by scope: {"scope":{"productId":"…","tenantId":"…"}}.',
    );
  if (['read_run', 'cancel_run', 'raise_event'].includes(entry.accessOperation))
    lines.push('  A run without a scope belongs to no policy.');
  return lines;
}

function hasScope(body: Buffer): boolean {
  try {
    const request: unknown = JSON.parse(body.toString('utf8'));
    return typeof request === 'object' && request !== null && Boolean((request as { scope?: unknown }).scope);
  } catch {
    return true;
  }
}
