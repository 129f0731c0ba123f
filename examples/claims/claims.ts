import { createHash } from 'node:crypto';

/** One insurance claim in the form of a claims desk. */
export interface Claim {
  readonly claimNumber: string;
  readonly policyNumber: string;
  readonly holder: { readonly name: string; readonly city: string };
  readonly reportedOn: string;
  readonly kind: string;
  readonly status: 'reported' | 'assessed';
  readonly reserveCents: number;
  readonly items: readonly { readonly label: string; readonly cents: number }[];
}

const FIRST = [
  'Ada',
  'Björn',
  'Chidi',
  'Dolores',
  'Eşref',
  'Fiona',
  'Gökçe',
  'Hana',
  'Ines',
  'Jürgen',
  'Kaito',
  'Łucja',
];
const LAST = [
  'Okafor',
  'Nguyễn',
  'Müller',
  'Rossi',
  'Haddad',
  'Kowalska',
  'Silva',
  'Tanaka',
  "O'Brien",
  'Åkesson',
];
const CITIES = ['Lyon', 'Kraków', 'Malmö', 'Porto', 'Graz', 'Gent', 'İzmir', 'Cork', 'Turku', 'Brno'];
const KINDS = ['water', 'storm', 'theft', 'collision', 'glass', 'fire'];
const ITEMS = ['survey', 'drying', 'parts', 'labour', 'rental car', 'replacement', 'disposal'];

/** A number derived from the names alone, so that every run imports the same claims. */
function roll(sides: number, ...names: readonly (string | number)[]): number {
  return createHash('sha256').update(names.join('|')).digest().readUInt32BE(0) % sides;
}

function pick<T>(list: readonly T[], ...names: readonly (string | number)[]): T {
  return list[roll(list.length, ...names)] as T;
}

export function claimNumber(index: number): string {
  return `CL-2026-${String(index).padStart(6, '0')}`;
}

/** The claim as reported. */
export function reportedClaim(index: number): Claim {
  const items = Array.from({ length: 1 + roll(4, index, 'items') }, (_, n) => ({
    label: pick(ITEMS, index, n, 'label'),
    cents: 2_500 + roll(400_000, index, n, 'cents'),
  }));
  return {
    claimNumber: claimNumber(index),
    policyNumber: `P-${String(100_000 + roll(900_000, index, 'policy'))}`,
    holder: {
      name: `${pick(FIRST, index, 'first')} ${pick(LAST, index, 'last')}`,
      city: pick(CITIES, index, 'city'),
    },
    reportedOn: new Date(Date.UTC(2026, roll(10, index, 'month'), 1 + roll(28, index, 'day'))).toISOString(),
    kind: pick(KINDS, index, 'kind'),
    status: 'reported',
    reserveCents: items.reduce((sum, item) => sum + item.cents, 0),
    items,
  };
}

/** The claim after an assessor's visit. */
export function assessedClaim(index: number): Claim {
  const claim = reportedClaim(index);
  return {
    ...claim,
    status: 'assessed',
    reserveCents: Math.round(claim.reserveCents * (0.5 + roll(100, index, 'f') / 100)),
  };
}

/** The claim's next step after the report. */
export function fate(index: number): 'assessed' | 'withdrawn' | 'open' {
  const dice = roll(10, index, 'fate');
  if (dice === 0) return 'withdrawn';
  return dice < 5 ? 'assessed' : 'open';
}
