import { ToolError } from '../output.ts';

/** The members that a command reads from the body of an answer. The service may add members, so nothing else is checked. */
export interface AnswerShape {
  /** Members of the body; absent where the body is a list. */
  readonly members?: readonly string[];
  /** The list that the body is, or the member that holds it. */
  readonly list?: { readonly member?: string; readonly of: readonly string[] };
}

export const RUN: AnswerShape & { readonly members: readonly string[] } = {
  members: [
    'id',
    'status',
    'handlerId',
    'attempt',
    'maxAttempts',
    'failures',
    'completedAtUtc',
    'cancellationRequested',
    'requested',
    'currentStep',
  ],
};

/** Throws the failure of a command whose answer lacks something that it reads, such as that of another kind of server. */
export function checkAnswer(operationId: string, body: unknown, { members = [], list }: AnswerShape): void {
  const refuse = (what: string): never => {
    throw new ToolError(
      `${operationId} was answered ${what}: is the address that of a service of this kind and release?`,
    );
  };
  const missing = missingOf(body, members);
  if (missing !== null) refuse(missing === NO_OBJECT ? `with what ${missing}` : missing);
  if (list === undefined) return;
  const items = list.member === undefined ? body : (body as Readonly<Record<string, unknown>>)[list.member];
  if (!Array.isArray(items)) return refuse(`without the list ${list.member ?? 'that it is'}`);
  for (const item of items as readonly unknown[]) {
    const absent = missingOf(item, list.of);
    if (absent !== null) refuse(`with an item ${absent === NO_OBJECT ? `that ${absent}` : absent}`);
  }
}

const NO_OBJECT = 'is no object';

/** Describes the missing members of the value; `null` where it has all. */
function missingOf(value: unknown, members: readonly string[]): string | null {
  if (members.length === 0) return null;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return NO_OBJECT;
  const absent = members.find((name) => !Object.hasOwn(value, name));
  return absent === undefined ? null : `without the member ${absent}`;
}
