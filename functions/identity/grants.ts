import { ServiceError } from '../kernel/errors.ts';

/** Shared by the access policies: grants by principal, and the text of a refusal. */

/** The right that the caller lacks, and the tenant in which it needs the right. Only the operator's log shows it. */
export interface MissingRight {
  readonly right?: string | null;
  readonly tenantId?: string | null | undefined;
}

/** The only refusal. Its text depends neither on the missing part of a grant nor on whether the target exists. */
export function permissionDenied(
  missing: MissingRight = {},
): ServiceError & { readonly missing: MissingRight } {
  return Object.assign(new ServiceError('permission_denied', 'The caller may not do this.'), { missing });
}

/** Lowers ASCII letters only: the Kelvin sign must not become a `k`, nor a dotted I an `i`. */
export function asciiLowerCase(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

/**
 * The grants by principal, each prepared once. Unless `caseInsensitive` is false, principals are compared without regard to the
 * case of ASCII letters, because operators write e-mail addresses in either case.
 */
export function grantsByPrincipal<Grant extends { readonly principal: string }, Ready>(
  grants: readonly Grant[],
  prepare: (grant: Grant) => Ready,
  caseInsensitive = true,
): (principal: string) => readonly Ready[] {
  const spell = (principal: string) => (caseInsensitive ? asciiLowerCase(principal) : principal);
  const byPrincipal = new Map<string, Ready[]>();
  for (const grant of grants) {
    const principal = spell(grant.principal);
    const known = byPrincipal.get(principal) ?? [];
    known.push(prepare(grant));
    byPrincipal.set(principal, known);
  }
  return (principal) => byPrincipal.get(spell(principal)) ?? [];
}
