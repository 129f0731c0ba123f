import type { ParameterSpec } from '../../contracts/operation.ts';
import { pointerTo, type ServiceError } from '../kernel/errors.ts';
import { nearName } from '../kernel/near-names.ts';
import type { ParameterFault, RefusedParameters } from './parameters.ts';
import { detailOf, refusalOf } from './schema-refusal.ts';

/** The refusal of parameters: the code of the first fault, and name and rule of each, never a refused value. */
export function refusalByParameters({
  faults,
  query,
}: Pick<RefusedParameters, 'faults' | 'query'>): ServiceError {
  const known = query.filter(({ prefix }) => prefix !== true).map(({ name }) => name);
  const errors = faults.map(({ name, keyword, spec }) =>
    detailOf({
      instancePath: pointerTo('', name),
      schemaPath: '',
      keyword: keyword === 'control' ? 'pattern' : keyword,
      ...ruleOf(keyword, name, spec, known),
    }),
  );
  return refusalOf(errors);
}

interface Rule {
  readonly message?: string;
  readonly params: Readonly<Record<string, unknown>>;
}

function ruleOf(
  keyword: ParameterFault['keyword'],
  name: string,
  spec: ParameterSpec | undefined,
  known: readonly string[],
): Rule {
  if (spec === undefined) return { params: { meant: nearName(name, known) } };
  if (keyword === 'type')
    return { params: { type: spec.type === 'boolean' ? 'boolean (true or false)' : spec.type } };
  if (keyword === 'enum') return { params: { allowedValues: spec.enum } };
  return { params: {}, message: sentenceOf(keyword, spec) };
}

function sentenceOf(keyword: ParameterFault['keyword'], spec: ParameterSpec): string {
  if (keyword === 'repeated') return 'occurs twice';
  if (keyword === 'control') return 'must not hold control characters';
  if (keyword === 'minimum') return `must be >= ${spec.minimum}`;
  if (keyword === 'maximum') return `must be <= ${spec.maximum}`;
  if (keyword === 'minLength') return `must NOT have fewer than ${spec.minLength} characters`;
  if (keyword === 'maxLength') return `must NOT have more than ${spec.maxLength} characters`;
  if (keyword === 'format') return 'must be a moment with its offset, as RFC 3339 writes it';
  return `must match pattern "${spec.pattern}"`;
}
