import { alternatives, split } from '../../scripts/sdk-surface.ts';

/**
 * Whether the SDK of now still has all that an earlier one had to name, by the lists of `scripts/sdk-surface.ts`: a line of
 * them is a name and what stands there, and a union is one line for each of its parts.
 */
export function surfaceFaults(released: string, now: string): string[] {
  const [before, after] = [entriesOf(released), entriesOf(now)];
  const lost = [...before].flatMap(([name, texts]) => {
    const found = after.get(name) ?? [];
    return texts
      .filter((text) => !found.some((each) => each === text || isWider(name, text, each, { before, after })))
      .map((text) =>
        found.length === 0 ? `${name} is gone` : `${name} was ${text}, and is ${found.join(', ')}`,
      );
  });
  const asked = [...after]
    .filter(([name]) => isWritten(name) && before.has(ownerOf(name)) && !before.has(name))
    .filter(([, texts]) => !texts.every(mayBeLeftOut))
    .map(([name]) => `${name} is newly required, and existing callers do not give it`);
  return [...lost, ...asked];
}

type Entries = ReadonlyMap<string, readonly string[]>;

interface Surfaces {
  readonly before: Entries;
  readonly after: Entries;
}

function entriesOf(surface: string): Entries {
  const entries = new Map<string, string[]>();
  for (const line of surface.split('\n').filter((each) => each !== '')) {
    const end = line.indexOf('  ');
    const name = line.slice(0, end);
    entries.set(name, [...(entries.get(name) ?? []), line.slice(end + 2)]);
  }
  return entries;
}

function ownerOf(member: string): string {
  return member.replace(/\.(?:'[^']*'|\[[^\]]*\]|[^.[\]]+)$/, '');
}

/** Whether callers write the type, so that a further required member breaks them. The document compares the members of requests. */
function isWritten(name: string): boolean {
  return /(?:Options|World|^FilePart|^BinaryReader)$/.test(ownerOf(name));
}

function mayBeLeftOut(text: string): boolean {
  return /^(?:readonly )?\w+\?/.test(text) || text.includes(': NotRequired[') || / ?= ?\S/.test(text);
}

/** Whether every earlier argument is still accepted, and the rest is the same. */
function isWider(name: string, before: string, after: string, surfaces: Surfaces): boolean {
  if (isWritten(name) && takesMore(before, after)) return true;
  const young = signatureOf(after);
  const old = young && widened(signatureOf(before), young);
  if (old === null || young === null || old.head !== young.head) return false;
  // Callers give such a function, and theirs has the earlier parameters.
  if (isWritten(name) && isMember(old)) return false;
  if (old.gives !== young.gives && !givesMore(old.gives, young.gives, surfaces)) return false;
  // A caller that passes arguments by position stops before the added ones; one that names them does not see the others.
  const same = young.parameters.slice(0, old.parameters.length);
  const byName = old.parameters.some((each) => each === '*');
  const isKept = byName
    ? old.parameters.every((each) => young.parameters.includes(each)) &&
      beforeNames(young.parameters).join() === beforeNames(old.parameters).join()
    : same.join() === old.parameters.join();
  return isKept && young.parameters.filter((each) => !old.parameters.includes(each)).every(mayBeLeftOut);
}

/** No caller implements a constructor, so a parameter of it that takes a further type takes all that callers give. */
function widened(old: Signature | null, { parameters: now }: Signature): Signature | null {
  if (old?.head !== 'def __init__(') return old;
  const parameters = old.parameters.map(
    (text) => now.find((each) => each.includes(': ') && takesMore(text, each)) ?? text,
  );
  return { ...old, parameters };
}

/** Whether another model is given that has each member of the one before: models are compared by their members. */
function givesMore(before: string, after: string, surfaces: Surfaces): boolean {
  const [old, young] = [MODEL.exec(before)?.[0], MODEL.exec(after)?.[0]];
  if (old === undefined || young === undefined || before.replace(MODEL, young) !== after) return false;
  const members = membersOf(old, surfaces.before);
  const kept = new Map(membersOf(young, surfaces.after));
  return members.length > 0 && members.every(([name, text]) => kept.get(name) === text);
}

const MODEL = /\b[Mm]odels\.\w+/;

/** The list for TypeScript has models without the name of their module. */
function membersOf(model: string, entries: Entries): [name: string, text: string][] {
  const prefix = `${model.replace('Models.', '')}.`;
  return [...entries].flatMap(([name, texts]): [string, string][] =>
    name.startsWith(prefix) ? [[name.slice(prefix.length), texts.join('\n')]] : [],
  );
}

function beforeNames(parameters: readonly string[]): readonly string[] {
  return parameters.slice(0, parameters.indexOf('*'));
}

function takesMore(before: string, after: string): boolean {
  const [[head, ...type], [headNow, ...typeNow]] = [before.split(': '), after.split(': ')];
  const parts = alternatives(inner(typeNow.join(': ')));
  return head === headNow && alternatives(inner(type.join(': '))).every((each) => parts.includes(each));
}

function inner(type: string): string {
  return /^NotRequired\[(.*)\]$/.exec(type)?.[1] ?? type;
}

interface Signature {
  readonly head: string;
  readonly parameters: readonly string[];
  readonly gives: string;
}

/** A function, a method or a member whose value is a function: its name, its parameters and its result. */
function signatureOf(text: string): Signature | null {
  const start = SIGNATURE.exec(text)?.[0];
  if (start === undefined) return null;
  const rest = text.slice(start.length);
  const end = closing(rest);
  const signature = { head: start, parameters: split(rest.slice(0, end), ','), gives: rest.slice(end) };
  return isMember(signature) && !signature.gives.startsWith(') => ') ? null : signature;
}

const SIGNATURE = /^(?:(?:@\S+ )*(?:async def |def |static )?[\w$]+|readonly [\w$]+: )(?:<[^()]*>)?\(/;

function isMember({ head }: Signature): boolean {
  return head.startsWith('readonly ');
}

function closing(text: string): number {
  let depth = 1;
  for (const [index, character] of text.split('').entries()) {
    if ('([{'.includes(character)) depth += 1;
    if (')]}'.includes(character)) depth -= 1;
    if (depth === 0) return index;
  }
  throw new Error(`nothing closes ${text}`);
}
