import type { Json } from '../schema.ts';
import type { SdkModel } from './ir.ts';
import type { SdkType } from './types.ts';

export type Models = ReadonlyMap<string, Pick<SdkModel, 'members' | 'type' | 'example'>>;

export const MOMENT = '2026-01-02T03:04:05.678+01:00';

/** A value of a model with every member set: from the value, else from examples, else generated. */
export function completed(
  name: string,
  value: Json | undefined,
  models: Models,
  open: readonly string[] = [],
): Json {
  const model = models.get(name);
  if (model === undefined) throw new Error(`there is no model ${name}`);
  const given = value ?? model.example;
  // Stop at a model that contains itself: a complete value would be infinite.
  if (open.includes(name)) return given;
  const inside = [...open, name];
  if (model.members === null) return completedType(model.type ?? { kind: 'json' }, given, models, inside);
  const members = membersOf(given);
  const all = model.members.map(({ name: member, type }) => [
    member,
    completedType(type, members[member] ?? durationNamed(member, type), models, inside),
  ]);
  return { ...members, ...Object.fromEntries(all) };
}

function completedType(
  type: SdkType,
  value: Json | undefined,
  models: Models,
  open: readonly string[],
): Json {
  switch (type.kind) {
    case 'nullable':
      return completedType(type.of, value, models, open);
    case 'model':
      return completed(type.name, value, models, open);
    case 'union':
      return completed(memberOf(type, value, models), value, models, open);
    case 'array': {
      const entries = Array.isArray(value) && value.length > 0 ? value : [undefined];
      return entries.map((entry) => completedType(type.items, entry, models, open));
    }
    case 'map': {
      const given = Object.entries(membersOf(value));
      const entries = given.length > 0 ? given : [['a b', undefined] as const];
      return Object.fromEntries(
        entries.map(([key, entry]) => [key, completedType(type.values, entry, models, open)]),
      );
    }
    default:
      return value ?? made(type);
  }
}

/** The union's model that matches a value; the first one if there is no value. */
function memberOf(
  { models: names, discriminator }: Extract<SdkType, { kind: 'union' }>,
  value: Json | undefined,
  models: Models,
): string {
  const given = membersOf(value)[discriminator];
  const found = names.find((name) => membersOf(models.get(name)?.example)[discriminator] === given);
  return (given === undefined ? names[0] : found) ?? '';
}

/** A length of time in seconds has one second as its minimum in some members, so the fraction is above it. */
function durationNamed(name: string, type: SdkType): number | undefined {
  const { kind } = type.kind === 'nullable' ? type.of : type;
  return kind === 'number' && name.endsWith('Seconds') ? 1.5 : undefined;
}

/** Values that encoders easily lose: `false`, fractions, times with an offset, JSON that is not ASCII. */
function made(type: SdkType): Json {
  switch (type.kind) {
    case 'string':
      return type.format === 'date-time' ? MOMENT : 'sample-1';
    case 'integer':
      return 2;
    case 'number':
      return 0.5;
    case 'boolean':
      return false;
    case 'literal':
      return type.values.at(-1) ?? null;
    case 'bytes':
      return '';
    default:
      return { ä: [1.5, null, false, ''] };
  }
}

function membersOf(value: Json | undefined): Readonly<Record<string, Json>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return {};
  return value as Readonly<Record<string, Json>>;
}
