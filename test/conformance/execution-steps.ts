import { describe, expect, test } from 'vitest';
import vectors from '../../sdk/steps/vectors.json' with { type: 'json' };
import { definitionOf, type Program } from '../../sdk/typescript/test/steps-program.ts';
import { StepsStage } from './execution-steps-stage.ts';
import type { ExecutionConformance } from './execution-suite.ts';

const programs = vectors.programs as unknown as readonly Program[];

/** Handlers with steps that a plugin brings: the worker kit over the calls of the process. */
export function describeSteps(conformance: ExecutionConformance): void {
  describe('handlers with steps in process', () => {
    describeJournals(conformance);
  });
}

function describeJournals({ store }: ExecutionConformance): void {
  test.each(programs.map((program) => [program.title, program] as const))(
    'write the journal of a worker: %s',
    async (_, program) => {
      const stage = new StepsStage(store());
      for (const { op, name, afterMs, payload } of program.ops)
        if (op === 'event' && afterMs !== undefined && payload !== undefined)
          stage.replies.set(String(name), { afterMs, payload });
      const { run } = definitionOf(program, { clock: stage } as never);
      const children = program.ops.flatMap(({ op, handler }) => (op === 'invoke' ? [handler ?? ''] : []));
      const plugin = stage.plugin({ h: run as never });
      const client = stage.client({ plugins: [plugin] });
      const ended = await stage.driven(client, 'h');
      expect(ended.error).toBe(program.ends ?? null);
      const texts = await stage.segments(client, ended.id);
      if (children.length === 0) expect(texts).toEqual(program.segments);
    },
  );
}
