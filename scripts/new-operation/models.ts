import { unfinished } from './unfinished.ts';

type Definitions = Readonly<Record<string, object>>;

/** The models that do not exist yet, with one member each to begin with. Requests are closed, answers are open. */
export function modelStubs(
  names: { readonly request: string | null; readonly answer: string },
  known: ReadonlySet<string>,
): Definitions {
  const stubs: Record<string, object> = {};
  if (names.request !== null && !known.has(names.request)) stubs[names.request] = stub(true);
  if (!known.has(names.answer)) stubs[names.answer] = stub(false);
  return stubs;
}

function stub(closed: boolean): object {
  const reference = closed ? 'IdentifierInput' : 'Identifier';
  return {
    description: unfinished('say what the model is'),
    type: 'object',
    ...(closed ? { additionalProperties: false } : {}),
    properties: {
      name: {
        description: unfinished('replace this member with those of the model'),
        $ref: `common.schema.json#/$defs/${reference}`,
      },
    },
    required: ['name'],
    examples: [{ name: 'example' }],
  };
}
