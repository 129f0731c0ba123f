import { type CatalogOperation, isToolExposure } from '../catalog.ts';
import type { ContractSource } from '../source.ts';
import { membersOf, modelNameOf, modelOf, type RequestMember, requestMembers, resolved } from './members.ts';
import { argumentOf, pointerOf, type ToolMap, type ToolModel, type ToolSource } from './types.ts';

/** Arguments that the generator adds, so no map has one of these names. */
const RESERVED: ReadonlySet<string> = new Set(['advanced', 'answerOffset', 'include']);

const NO_TOOLS: ToolSource = { maps: {}, models: {} };

/** The faults of the maps of tools, a sentence each: a member without a use, with two uses, or a use without a member. */
export function lintTools(source: ContractSource): readonly string[] {
  const { maps, models } = source.tools ?? NO_TOOLS;
  const reached = new Set<string>();
  const ofMaps = source.catalog.operations.flatMap((operation) => {
    const map = maps[operation.id];
    if (isToolExposure(operation.mcp.exposure) !== (map !== undefined))
      return [`${operation.id}: a tool has a map, and only a tool`];
    if (map === undefined) return [];
    return mapFaults(source, operation, map, reached).map((fault) => `${operation.id}: ${fault}`);
  });
  const unused = Object.keys(models).filter((name) => !reached.has(name));
  return [...ofMaps, ...unused.map((name) => `toolModels: no tool takes ${name}`)];
}

function mapFaults(
  source: ContractSource,
  operation: CatalogOperation,
  map: ToolMap,
  reached: Set<string>,
): readonly string[] {
  const named = [...Object.entries(map.takes), ...Object.entries(map.advanced ?? {})];
  const taken = named.map(([name, written]) => pointerOf(name, written));
  const set = Object.keys(map.sets ?? {});
  const omitted = [...(map.omits ?? []), ...set];
  const always = new Set([
    ...set,
    ...named.flatMap(([name, written]) => {
      const { required, default: value } = argumentOf(written);
      return required === true || value !== undefined ? [pointerOf(name, written)] : [];
    }),
  ]);
  const names = named.map(([name]) => name);
  const faults = [
    ...names.filter((name) => RESERVED.has(name)).map((name) => `the argument ${name} is one of every tool`),
    ...repeated(names).map((name) => `two arguments are named ${name}`),
    ...repeated([...taken, ...omitted]).map((pointer) => `${pointer} has two uses`),
    ...(operation.request?.keepsText === true
      ? taken.filter((pointer) => pointer.lastIndexOf('/') > 0)
      : []
    ).map((pointer) => `${pointer} is below a member of a request that keeps its text`),
  ];
  const uses: Uses = { taken: new Set(taken), omitted: new Set(omitted), always, seen: new Set(), reached };
  faults.push(...levelFaults(source, requestMembers(source, operation), { at: '', isCertain: true }, uses));
  const lost = [...taken, ...omitted].filter((pointer) => !uses.seen.has(pointer));
  return [...faults, ...lost.map((pointer) => `the request has no member ${pointer}`)];
}

interface Uses {
  readonly taken: ReadonlySet<string>;
  readonly omitted: ReadonlySet<string>;
  /** Pointers that every request of the tool has. */
  readonly always: ReadonlySet<string>;
  readonly seen: Set<string>;
  /** Models whose maps the tools use. */
  readonly reached: Set<string>;
}

/** A level of the request: its pointer, and whether every request has it. */
interface Level {
  readonly at: string;
  readonly isCertain: boolean;
}

function levelFaults(
  source: ContractSource,
  members: Readonly<Record<string, RequestMember>>,
  { at, isCertain }: Level,
  uses: Uses,
): readonly string[] {
  return Object.entries(members).flatMap(([name, { schema, required }]) => {
    const pointer = `${at}/${name}`;
    const isOpened = [...uses.taken, ...uses.omitted].some((each) => each.startsWith(`${pointer}/`));
    const isUsed = uses.taken.has(pointer) || uses.omitted.has(pointer);
    if (isUsed) uses.seen.add(pointer);
    if (isUsed && isOpened) return [`${pointer} is used as a whole and in parts`];
    if (isOpened) {
      const below = { at: pointer, isCertain: isCertain && required };
      return levelFaults(source, membersOf(resolved(source, schema)), below, uses);
    }
    if (uses.taken.has(pointer)) {
      const isLoose = required && !isCertain && !uses.always.has(pointer);
      const below = modelFaults(source, schema, uses.reached);
      return isLoose ? [`${pointer} needs a default or "required", as its object has it`, ...below] : below;
    }
    if (!isUsed) return [`${pointer} is neither taken nor left out`];
    return required && !uses.always.has(pointer) ? [`${pointer} is left out, but the request needs it`] : [];
  });
}

/** The faults of the maps of all models that the schema of a taken member reaches. */
function modelFaults(
  source: ContractSource,
  schema: RequestMember['schema'],
  reached: Set<string>,
): readonly string[] {
  const items = resolved(source, schema).items;
  if (items !== undefined) return modelFaults(source, items, reached);
  const name = modelNameOf(schema);
  if (name === undefined || reached.has(name)) return [];
  const model = modelOf(source, name);
  if (model.properties === undefined) return model.items ? modelFaults(source, model.items, reached) : [];
  reached.add(name);
  const map = source.tools?.models[name];
  if (map === undefined) return [`toolModels has no ${name}`];
  const own = ownFaults(membersOf(model), map).map((fault) => `toolModels: ${name}: ${fault}`);
  const taken = Object.keys(map.takes).flatMap((member) => {
    const below = model.properties?.[member];
    return below === undefined ? [] : modelFaults(source, below, reached);
  });
  return [...own, ...taken];
}

function ownFaults(members: Readonly<Record<string, RequestMember>>, map: ToolModel): readonly string[] {
  const taken = Object.keys(map.takes);
  const omitted = map.omits ?? [];
  const used = [...taken, ...omitted];
  return [
    ...repeated(used).map((name) => `${name} has two uses`),
    ...used.filter((name) => members[name] === undefined).map((name) => `the model has no member ${name}`),
    ...Object.entries(members).flatMap(([name, { required }]) => {
      if (!used.includes(name)) return [`${name} is neither taken nor left out`];
      return required && omitted.includes(name) ? [`${name} is left out, but the model needs it`] : [];
    }),
    ...Object.values(map.takes)
      .filter((written) => argumentOf(written).from !== undefined)
      .map(() => 'a member of a model keeps its name, so "from" has no use'),
    ...(map.recursion?.lastOmits ?? [])
      .filter((name) => !taken.includes(name))
      .map((name) => `the last level lacks ${name}, which is not taken`),
    ...(map.recursion?.lastRequires ?? [])
      .filter((name) => !taken.includes(name) || map.recursion?.lastOmits.includes(name))
      .map((name) => `the last level needs ${name}, which it does not have`),
  ];
}

function repeated(names: readonly string[]): readonly string[] {
  return [...new Set(names.filter((name, at) => names.indexOf(name) !== at))];
}
