import { SvcError } from './errors.ts';
import { methodOf, type OperationName } from './operation.ts';

/** The refusal of a part of a request that cannot be sent; it names the place, and quotes no value. */
export function refused(operation: OperationName, place: string, rule: string): SvcError {
  return new SvcError(`The request of ${methodOf(operation)} is not valid: ${place}: ${rule}`, {
    operation: operation.id,
  });
}

/** The request as JSON. `JSON.stringify` alone would write null for a number that JSON does not have. */
export function jsonText(operation: OperationName, request: unknown, pointer = ''): string {
  try {
    return JSON.stringify(request, (_, value: unknown) => {
      if (ruleFor(value) !== undefined) throw value;
      return value;
    });
  } catch {
    const places = new Map<unknown, string>();
    let place = pointer;
    let rule: string | undefined;
    try {
      // The place is found only after a failure, so that valid requests pay nothing. The last visited place is the faulty one.
      JSON.stringify(request, function (this: unknown, name: string, value: unknown) {
        const outer = places.get(this);
        place =
          outer === undefined ? pointer : `${outer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
        if (typeof value === 'object') places.set(value, place);
        rule = ruleFor(value);
        if (rule !== undefined) throw value;
        return value;
      });
    } catch {}
    throw refused(operation, place || 'the whole', rule ?? 'cannot be written as JSON');
  }
}

function ruleFor(value: unknown): string | undefined {
  if (typeof value === 'bigint') return 'must be a number or a text, not a bigint';
  return typeof value === 'number' && !Number.isFinite(value) ? 'must be a finite number' : undefined;
}

/** Refuses parameters that the operation does not have: TypeScript finds these only in object literals. */
export function checkNames(
  operation: OperationName,
  given: Readonly<Record<string, unknown>>,
  known: readonly string[],
) {
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || known.includes(name)) continue;
    const near = [...known].sort((a, b) => distance(a, name) - distance(b, name))[0];
    const isNear = near !== undefined && distance(near, name) <= Math.max(2, name.length / 4);
    throw refused(operation, `/${name}`, `is not known here${isNear ? `: did you mean ${near}?` : ''}`);
  }
}

/** The edit distance of two short names, ignoring case. */
function distance(left: string, right: string): number {
  const a = left.toLowerCase();
  const b = right.toLowerCase();
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
