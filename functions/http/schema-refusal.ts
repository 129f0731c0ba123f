import type { ValidatorFault } from '../../contracts/validator.ts';
import { faultWords, type ProblemDetail, pointerTo, ServiceError } from '../kernel/errors.ts';
import { type FaultSchemas, schemaFaults } from './schema-faults.ts';

/** The most faults that a refusal names, the one of the validator first. */
const FAULTS_MAX = 20;
const SENTENCE_MAX = 256;
const DETAIL_MAX = 2_048;

const overLimit = new Set(['maxLength', 'maxItems', 'maxProperties', 'maximum', 'exclusiveMaximum']);

/**
 * The refusal of a body by its model: the code of the first fault, and the places and rules of up to 20, never a refused value.
 * `refused` is the body.
 */
export async function refusalBySchema(
  model: string | null,
  faults: readonly ValidatorFault[] | null | undefined,
  refused: unknown,
): Promise<ServiceError> {
  // Each branch of a nullable member reports a fault; the first one names the cause.
  const first = faults?.[0];
  if (!first) return new ServiceError('validation_failed', 'The request does not match its schema.');
  return refusalOf([...(await allFaults(detailOf(first), model, refused)).values()]);
}

/** The first of the faults decides about the code. */
export function refusalOf(errors: readonly ProblemDetail[]): ServiceError {
  const code = overLimit.has(errors[0]?.keyword ?? '') ? 'limit_exceeded' : 'validation_failed';
  const detail = `The request is not valid: ${faultWords(errors, 'the body')}`;
  return new ServiceError(code, detail.slice(0, DETAIL_MAX).toWellFormed(), { errors });
}

async function allFaults(
  first: ProblemDetail,
  model: string | null,
  refused: unknown,
): Promise<ReadonlyMap<string, ProblemDetail>> {
  const all = new Map([[keyOf(first), first]]);
  if (model === null) return all;
  // Only a refusal needs it, and it is large.
  const bundle = await import('../../contracts/generated/schemas/svc-public.schema.json', {
    with: { type: 'json' },
  });
  const schemas = bundle.default.$defs as FaultSchemas;
  let looked = 0;
  for (const fault of schemaFaults(schemas, schemas[model] ?? {}, refused)) {
    const detail = detailOf(fault);
    // A later detail of the same fault may suggest the intended name, so it replaces the first.
    all.set(keyOf(detail), detail);
    looked += 1;
    // Pointers that were cut may be the same.
    if (all.size >= FAULTS_MAX || looked > FAULTS_MAX) break;
  }
  return all;
}

function keyOf({ pointer, keyword }: ProblemDetail): string {
  return `${keyword}\n${pointer}`;
}

export function detailOf(fault: ValidatorFault): ProblemDetail {
  // The pointer of an unknown or a missing member names the member itself, because callers search for it there.
  const member =
    fault.params['additionalProperty'] ??
    fault.params['unevaluatedProperty'] ??
    fault.params['missingProperty'];
  const pointer = typeof member === 'string' ? pointerTo(fault.instancePath, member) : fault.instancePath;
  const detail = sentenceOf(fault).slice(0, SENTENCE_MAX).toWellFormed();
  return { pointer: pointer.slice(0, 512).toWellFormed(), keyword: fault.keyword, detail };
}

function sentenceOf({ keyword, params, message }: ValidatorFault): string {
  if (keyword === 'additionalProperties' || keyword === 'unevaluatedProperties') {
    const { meant } = params;
    return typeof meant === 'string' ? `is not known here: did you mean ${meant}?` : 'is not known here';
  }
  if (keyword === 'required') return 'is missing';
  if (keyword === 'type') return `must be of the type ${[params['type']].flat().join(' or ')}`;
  if (keyword === 'const') return `must be ${String(params['allowedValue'])}`;
  const { allowedValues } = params;
  if (Array.isArray(allowedValues)) return `must be one of ${allowedValues.map(String).join(', ')}`;
  // The messages of ajv repeat the schema, not the value.
  return message ?? `breaks the rule ${keyword}`;
}
