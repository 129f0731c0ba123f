import type { OperationId } from '../../../contracts/generated/operations.ts';
import { membersOf } from '../../kernel/json-slices.ts';

/**
 * By operation, the paths of values that differ in each call although the answer is the same. The parts of an answer come from
 * several calls, so their text must not depend on these values.
 */
const ownValues: Partial<Record<OperationId, readonly string[]>> = {
  inspectCollection: ['generatedAt'],
  inspectGraphCollection: ['generatedAt'],
  doctorGraphCollection: ['generatedAt', 'inspection.generatedAt'],
  retrieve: ofTrace('trace'),
  buildRagContext: ofTrace('trace.retrieval'),
  buildRagPrompt: ofTrace('context.trace.retrieval'),
};

function ofTrace(place: string): readonly string[] {
  return ['id', 'durationMs', 'rerankTraceId'].map((name) => `${place}.${name}`);
}

/** Wider than any of these values. A longer value would give the parts different hashes. */
const WIDTH = 48;

export interface SteadyText {
  readonly text: string;
  /** The places of these values. A part never begins or ends inside one. */
  readonly own: readonly { readonly begin: number; readonly end: number }[];
}

/** Pads the values that differ in each call with spaces, so that all other text has the same offset in each answer. */
export function steadyText(operationId: string, text: string): SteadyText {
  const paths = (ownValues as Readonly<Record<string, readonly string[]>>)[operationId] ?? [];
  if (paths.length === 0) return { text, own: [] };
  const own: { begin: number; end: number }[] = [];
  let steady = '';
  const write = (value: string, within: readonly (readonly string[])[]): void => {
    if (within.some((path) => path.length === 0)) {
      const begin = steady.length;
      steady += value.padEnd(WIDTH);
      own.push({ begin, end: steady.length });
    } else if (within.length === 0 || !value.startsWith('{')) steady += value;
    else {
      steady += '{';
      for (const [at, member] of membersOf(value).entries()) {
        steady += `${at === 0 ? '' : ','}${JSON.stringify(member.name)}:`;
        write(
          member.value,
          within.flatMap(([first, ...rest]) => (first === member.name ? [rest] : [])),
        );
      }
      steady += '}';
    }
  };
  write(
    text,
    paths.map((path) => path.split('.')),
  );
  return { text: steady, own };
}
