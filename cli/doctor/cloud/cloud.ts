import { type Check, failed, ok } from '../check.ts';
import { type Failure, type GoogleApis, GoogleError } from './google.ts';

/** The inputs that all checks of the cloud share. */
export interface Cloud {
  readonly apis: GoogleApis;
  readonly projectId: string;
  /** Things that the account may not read: one check lists them all, so that a missing right is one line. */
  readonly gaps: Gap[];
}

interface Gap {
  readonly what: string;
  readonly why: string;
}

/**
 * The findings of `look`. Where the operator may not see the resource, or its API is off or does not answer, it gives no
 * finding and notes a gap. A failure in `ending` ends the preflight.
 */
export async function looking(
  cloud: Cloud,
  what: string,
  look: () => Promise<Check[]>,
  ending: readonly Failure[] = ['unauthenticated'],
): Promise<Check[]> {
  try {
    return await look();
  } catch (error) {
    if (!(error instanceof GoogleError) || ending.includes(error.failure)) throw error;
    cloud.gaps.push({ what, why: reasonOf(error) });
    return [];
  }
}

/** Gives the same text for each resource of a kind, so that gaps with one reason are one line. */
function reasonOf({ failure, api, message }: GoogleError): string {
  if (failure === 'api-off') return `the API ${api} is off`;
  const [, right] = /permission\W+([a-z]+\.[A-Za-z.]+[A-Za-z])\b/i.exec(message) ?? [];
  return right === undefined ? message : `you lack the right ${right}`;
}

/** All gaps as one check. */
export function gapChecks({ gaps }: Pick<Cloud, 'gaps'>): Check[] {
  if (gaps.length === 0) return [];
  const reasons = [...new Set(gaps.map(({ why }) => why))].sort();
  const lines = reasons.map((reason) => {
    const named = gaps.filter(({ why }) => why === reason).map(({ what }) => what);
    return `${named.sort().join(', ')}: ${reason}`;
  });
  const message = ['The preflight could not look at these:', ...lines].join('\n');
  return [
    failed(
      'cloud-unseen',
      message,
      'First mend what cloud-permissions and cloud-apis name, if they do; then ask again.',
    ),
  ];
}

/** The findings of one area; a single line where everything could be read and nothing is wrong. */
export async function area(
  cloud: Cloud,
  well: { readonly id: string; readonly message: string },
  look: (cloud: Cloud) => Promise<Check[]>,
): Promise<Check[]> {
  const own: Cloud = { ...cloud, gaps: [] };
  const faults = await look(own);
  cloud.gaps.push(...own.gaps);
  return faults.length > 0 || own.gaps.length > 0 ? faults : [ok(well.id, well.message)];
}

/** One line where nothing is wrong. */
export function okUnless(id: string, message: string, faults: readonly Check[]): Check[] {
  return faults.length > 0 ? [...faults] : [ok(id, message)];
}

/** `3 queues`, `1 queue`. */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

/** The findings of each item, in order, all looked at together. */
export async function each<T>(items: readonly T[], look: (item: T) => Promise<Check[]>): Promise<Check[]> {
  return (await Promise.all(items.map(look))).flat();
}

/** A word of a shell, quoted where it needs to be. */
export function word(text: string): string {
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
