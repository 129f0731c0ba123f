import { pascal } from './names.ts';
import type { NewOperation } from './request.ts';
import { unfinished } from './unfinished.ts';

/** The files of a group that does not exist yet, by path. Its operation files are written like those of every group. */
export function groupFiles({ group }: NewOperation, position: number): Readonly<Record<string, string>> {
  const name = pascal(group);
  return {
    [`contracts/operations/${group}.json`]: json({
      $schema: '../source.schema.json',
      position,
      title: name,
      description: unfinished('say in one sentence what the group is for'),
      operations: [],
    }),
    [`contracts/schemas/${group}.schema.json`]: json({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      title: `Models of the group ${group}`,
      $defs: {},
    }),
    [`functions/groups/${group}/dependencies.ts`]: `import type { World } from '../../kernel/world.ts';
import type { RecordStore } from '../../store/port.ts';

/** The parts that the operations of the group work with. The first call that needs the store opens it. */
export interface ${name}Dependencies {
  readonly store: () => Promise<RecordStore>;
  readonly world: World;
}
`,
    [`functions/groups/${group}/records.ts`]: `import type { OwnedCollection } from '../../store/ownership.ts';

/**
 * The record collections of the group: every provider makes room for them. Its scopes are of the kind \`system\`: a restore of
 * a tenant replaces everything in the scope \`tenants\` of that tenant.
 */
export const collections: readonly OwnedCollection[] = [];
`,
    [`functions/groups/${group}/handlers.ts`]: `import type { GroupHandlers } from '../../http/handler.ts';
import type { ${name}Dependencies } from './dependencies.ts';

/** The operations of the group ${group} over one store. */
export function ${group}Handlers(dependencies: ${name}Dependencies): GroupHandlers<'${group}'> {
  return {
  };
}
`,
    [`functions/compose/groups/${group}.ts`]: `import type { GroupModule } from '../group.ts';

export const group: GroupModule = {
  bytesMax: 100_000,
  async collections() {
    return (await import('../../groups/${group}/records.ts')).collections;
  },
  async load({ store, world }) {
    const { ${group}Handlers } = await import('../../groups/${group}/handlers.ts');
    return { handlers: ${group}Handlers({ store: store.get, world }), extra: [] };
  },
};
`,
    [`test/conformance/${group}.ts`]: suite(group),
    [`test/conformance/${group}.test.ts`]: suiteOnEachStore(group),
  };
}

function suite(group: string): string {
  return `import { afterAll, beforeAll, describe } from 'vitest';
import { collections } from '../../functions/groups/${group}/records.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { openStore, type TestedStore } from './stores/tested-store.ts';

export interface Conformance {
  /** The store under test, open from before the first test to after the last. */
  readonly store: () => RecordStore;
}

/** The tests of the group, against any provider. Each test owns its tenant. */
export function describe${pascal(group)}(tested: TestedStore): void {
  describe(\`${group} on \${tested.title}\`, () => {
    let store: RecordStore;
    beforeAll(async () => {
      store = await openStore(tested, collections);
    });
    afterAll(async () => {
      await store.close();
    });
    const conformance: Conformance = { store: () => store };
  });
}
`;
}

function suiteOnEachStore(group: string): string {
  const name = `describe${pascal(group)}`;
  return `import { ${name} } from './${group}.ts';
import { stores } from './stores/lane.ts';

for (const tested of stores) ${name}(tested);
`;
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
