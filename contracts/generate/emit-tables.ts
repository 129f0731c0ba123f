import { docComment, HEADER, literal, quote, union } from './print.ts';
import type { ContractSource } from './source.ts';

/** `errors.ts`: the problem codes as a type, and the definition of each code. */
export function emitErrors({ problems }: ContractSource): string {
  const rows = problems.map(
    ({ code, status, title, retryable, description }) =>
      `${docComment(description, '  ')}  ${code}: ${literal({ status, title, retryable })},\n`,
  );
  return [
    HEADER,
    '',
    '/** The closed vocabulary of problem codes; `type` of a problem is `urn:svc:problem:` and the code. */',
    `export type ProblemCode = ${union(problems.map(({ code }) => quote(code)))};`,
    '',
    'export interface ProblemDefinition {',
    '  readonly status: number;',
    '  readonly title: string;',
    '  /** Whether the same request can succeed later without being changed. */',
    '  readonly retryable: boolean;',
    '}',
    '',
    'export const problems: Readonly<Record<ProblemCode, ProblemDefinition>> = {',
    `${rows.join('')}};`,
    '',
  ].join('\n');
}

/** `limits.ts`: the table of limits as constants. */
export function emitLimits({ limits }: ContractSource): string {
  const rows = limits.map(
    ({ name, value, unit, description }) =>
      `${docComment(`${description} Unit: ${unit}.`, '  ')}  ${name}: ${String(value).replace(/\B(?=(\d{3})+$)/g, '_')},\n`,
  );
  return `${HEADER}\n\nexport const limits = {\n${rows.join('')}} as const;\n`;
}
