import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type Generated, write } from '../contracts/generate/disk.ts';
import {
  instructions,
  instructionsDefinition,
  plainInstructions,
  readingInstructions,
} from '../functions/mcp/service/instructions.ts';
import { cancelDefinition, getDefinition } from '../functions/mcp/service/plain-definitions.ts';

/**
 * `npm run generate` pins the definitions of the MCP catalog and its instructions by their hashes: a model acts on them, so
 * no change of one may slip through. `node scripts/mcp-pins.ts --accept <name>` accepts the change of one.
 */

export const PINS = 'contracts/mcp-pins.json';
const DEFINITIONS = 'contracts/generated/mcp/definitions.json';

export interface PinnedDefinition {
  readonly definition: { readonly name: string; readonly uri?: string };
  /** The schema of rare arguments, which the list leaves out. */
  readonly advanced?: object;
}

export type Pins = Readonly<Record<string, string>>;

/** The name of a tool, or the address of a resource. */
export function pinName({ definition }: PinnedDefinition): string {
  return definition.uri ?? definition.name;
}

export function hashOf({ definition }: PinnedDefinition): string {
  return `sha256:${createHash('sha256').update(JSON.stringify(definition)).digest('hex')}`;
}

export interface PinChange {
  readonly added: Pins;
  readonly changed: readonly string[];
  readonly gone: readonly string[];
}

export function pinChange(pins: Pins, definitions: readonly PinnedDefinition[]): PinChange {
  const hashes = new Map(definitions.map((each) => [pinName(each), hashOf(each)]));
  const isKnown = (name: string) => Object.hasOwn(pins, name);
  return {
    added: Object.fromEntries([...hashes].filter(([name]) => !isKnown(name))),
    changed: [...hashes].flatMap(([name, hash]) => (isKnown(name) && pins[name] !== hash ? [name] : [])),
    gone: Object.keys(pins).filter((name) => !hashes.has(name)),
  };
}

/** The pins with what is new, and with the changes that a person has accepted. */
export function acceptedPins(
  pins: Pins,
  definitions: readonly PinnedDefinition[],
  accepted: readonly string[],
): Pins {
  const { added } = pinChange(pins, definitions);
  const taken = definitions.filter((each) => accepted.includes(pinName(each)));
  const next = {
    ...pins,
    ...added,
    ...Object.fromEntries(taken.map((each) => [pinName(each), hashOf(each)])),
  };
  return Object.fromEntries(Object.entries(next).sort(([a], [b]) => (a < b ? -1 : 1)));
}

export function readPins(root: string): {
  readonly pins: Pins;
  readonly definitions: readonly PinnedDefinition[];
} {
  const read = (path: string): unknown => JSON.parse(readFileSync(join(root, path), 'utf8'));
  const { definitions } = read(DEFINITIONS) as { readonly definitions: readonly PinnedDefinition[] };
  const rare = definitions.flatMap(({ definition: { name }, advanced }) =>
    advanced === undefined ? [] : [{ definition: { name, uri: `svc://tools/${name}/v1`, advanced } }],
  );
  const older = instructionsDefinition({ plain: plainInstructions, reading: readingInstructions });
  const texts = [
    instructionsDefinition(instructions),
    { ...older, name: 'instructions of older revisions' },
    getDefinition,
    cancelDefinition,
  ].map((definition) => ({ definition }));
  return { pins: read(PINS) as Pins, definitions: [...definitions, ...rare, ...texts] };
}

/** The pins with those that are new. A change or a loss is a fault: a person reads the definition and accepts it. */
export function generated(root: string): Generated {
  const { pins, definitions } = readPins(root);
  const { changed, gone } = pinChange(pins, definitions);
  return {
    files: pinFile(acceptedPins(pins, definitions, [])),
    faults: [
      ...changed.map(
        (name) => `${name} changed: read its definition, then node scripts/mcp-pins.ts --accept ${name}`,
      ),
      ...gone.map((name) => `${name} is pinned and gone: the name of a tool stays`),
    ],
  };
}

function pinFile(pins: Pins): ReadonlyMap<string, string> {
  return new Map([[PINS, `${JSON.stringify(pins, null, 2)}\n`]]);
}

if (import.meta.main) {
  const root = resolve(import.meta.dirname, '..');
  const { pins, definitions } = readPins(root);
  const { accept = [] } = parseArgs({ options: { accept: { type: 'string', multiple: true } } }).values;
  write(root, pinFile(acceptedPins(pins, definitions, accept)), []);
}
