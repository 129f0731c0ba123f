import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readDeployment } from '../../cli/doctor/cloud/deployment.ts';
import { catalogGroups } from '../../functions/compose/catalog-groups.ts';
import { functionNames } from '../../functions/compose/functions.ts';
import { loadConfiguration } from '../../functions/config/load.ts';
import { catalogPaths } from '../../scripts/public-routes.ts';
import { terraform, terraformMissing } from '../support/terraform.ts';
import { copyOfInfra, type Edit, infraFolder } from './configuration.ts';
import { neededComposites, neededFields } from './index-check.ts';
import { planted } from './planted.ts';
import { type StubProvider, startStubProvider } from './provider/stub-provider.ts';
import { groupFor, readings } from './url-map.ts';

if (terraformMissing !== undefined)
  console.warn(`Terraform does not check the infrastructure ${terraformMissing}`);

describe.skipIf(terraformMissing !== undefined)(
  `the infrastructure in Terraform ${terraformMissing ?? ''}`,
  () => {
    const deploymentTest = 'tests/deployment.tftest.hcl';
    const folders: string[] = [];
    let provider: StubProvider;

    beforeAll(async () => {
      provider = await startStubProvider();
    });
    afterAll(() => {
      provider.stop();
      for (const folder of folders) rmSync(folder, { recursive: true });
    });

    function copy(...edits: readonly Edit[]): string {
      const folder = copyOfInfra(...edits);
      folders.push(folder);
      return folder;
    }

    const run = (folder: string, ...args: readonly string[]) => {
      const [command = '', ...rest] = args;
      return terraform(folder, [command, '-no-color', ...rest], provider.environment);
    };
    const needed = [
      '-var',
      `needed_fields=${JSON.stringify(neededFields())}`,
      '-var',
      `needed_composites=${JSON.stringify(neededComposites())}`,
    ];

    /** `validate`, and where that finds nothing, `test`. */
    async function findings(folder: string, ...only: readonly string[]): Promise<string> {
      const validated = await run(folder, 'validate');
      if (validated.status !== 0) return validated.output;
      const tested = await run(folder, 'test', ...needed, ...only);
      return tested.status === 0 ? '' : tested.output;
    }

    test('is formatted', async () => {
      const args = ['fmt', '-check', '-recursive', '-diff'];
      const formatted = await terraform(infraFolder, args, provider.environment);
      expect(formatted).toEqual({ status: 0, output: '' });
    });

    test('is valid, and its tests pass', async () => {
      expect(await findings(copy())).toBe('');
    });

    test('the example environment is valid', async () => {
      const folder = join(copy(), 'environments/example');
      expect((await run(folder, 'init', '-backend=false')).output).toContain('successfully initialized');
      expect((await run(folder, 'validate')).output).toContain('The configuration is valid');
    });

    describe('with invented answers of the provider', () => {
      let state: PlannedState;
      beforeAll(async () => {
        const { output } = await run(copy(), 'test', '-json', '-verbose', `-filter=${deploymentTest}`);
        state = stateIn(output);
      });

      test('writes the deployment that the preflight reads', () => {
        const text = JSON.stringify(state.outputs['deployment']?.value);
        const deployment = readDeployment(text, 'terraform test');
        // The MCP endpoint is deployed on request alone.
        const internal = functionNames.filter((name) => name !== 'mcp');
        const names = [...catalogGroups.map(({ name }) => name), ...internal];
        expect(deployment.functions.map(({ name }) => name).sort()).toEqual(names.sort());
        expect(deployment.functions.find(({ name }) => name === 'server')?.invokers).toEqual(['allUsers']);
        expect(deployment.queues).toMatchObject([{ name: 'svc-runs', enqueuers: { length: 11 } }]);
        expect(deployment.jobs.map(({ name }) => name).sort()).toEqual(['svc-prune', 'svc-reconcile']);
        expect(deployment.secrets.map(({ name }) => name)).toEqual([
          'svc-settings',
          'svc-settings-maintenance',
        ]);
        const artifacts = deployment.buckets.find(({ name }) => name.endsWith('-artifacts'));
        expect(artifacts?.accounts).toHaveLength(14);
        expect(deployment.accounts).toHaveLength(names.length + 2);
      });

      test('gives each function settings that it accepts', () => {
        const texts = new Map(
          resources(state, 'google_secret_manager_secret_version').map(({ index, values }) => [
            index,
            String(values['secret_data']),
          ]),
        );
        for (const { index, values } of resources(state, 'google_cloudfunctions2_function')) {
          const [service] = (values['service_config'] ?? []) as readonly ServiceConfig[];
          const env = { ...service?.environment_variables, K_SERVICE: `svc-${index}` };
          const text = texts.get(
            index === 'prune' || index === 'reconcile' ? 'settings-maintenance' : 'settings',
          );
          const readFile = (path: string) => (path === env.SVC_SETTINGS ? text : undefined);
          const { faults, settings } = loadConfiguration({ host: 'functions', env, argv: [], readFile });
          expect(faults, index).toEqual([]);
          expect(settings?.service.environment).toBe('Production');
          expect(settings?.execution.adapter).toBe('google');
        }
      });

      test.each(readings)('routes every path of the catalog to its function, where ** is %s', (reading) => {
        const groups = new Map(
          resources(state, 'google_compute_backend_service').map(({ index, values }) => [
            values['id'],
            index,
          ]),
        );
        const [map] = resources(state, 'google_compute_url_map');
        const [matcher] = (map?.values['path_matcher'] ?? []) as readonly PathMatcher[];
        const rules = [...(matcher?.route_rules ?? [])]
          .sort((left, right) => left.priority - right.priority)
          .flatMap(({ service, match_rules }) =>
            match_rules.map(({ full_path_match, path_template_match }) => ({
              group: groups.get(service) ?? '',
              path: full_path_match ?? path_template_match ?? '',
            })),
          );
        for (const { group, segments } of catalogPaths(join(infraFolder, '..'))) {
          const path = `/${segments.map((segment) => (segment === '*' ? 'acme' : segment)).join('/')}`;
          expect(groupFor({ rules, otherwise: 'none' }, path, reading), path).toBe(group);
        }
      });
    });

    test('a new group is one entry', async () => {
      const edit = { file: 'groups.tf', from: '  groups = {\n', to: `  groups = {\n    ${notesEntry}\n` };
      const folder = copy(edit);
      writeFileSync(join(folder, 'tests/notes.tftest.hcl'), notesTest);
      const { output, status } = await run(folder, 'test', '-filter=tests/notes.tftest.hcl');
      expect(status, output).toBe(0);
    });

    test('takes composite indexes and fields with a time to live from the file of indexes', async () => {
      const folder = copy();
      writeFileSync(join(folder, 'firestore.indexes.json'), JSON.stringify(otherIndexes));
      writeFileSync(join(folder, 'tests/other.tftest.hcl'), otherTest);
      const { output, status } = await run(folder, 'test', '-filter=tests/other.tftest.hcl');
      expect(status, output).toBe(0);
    });

    const known = planted.flatMap(({ defect, edit, terraform: text }) =>
      text === undefined ? [] : [{ defect, edit, text }],
    );
    const ofIndexes = known.filter(({ edit }) => edit.file === 'firestore.indexes.json');
    test.each(ofIndexes)('finds $defect', async ({ edit, text }) => {
      expect(await findings(copy(edit), '-filter=tests/indexes.tftest.hcl')).toContain(text);
    });

    const others = known.filter((each) => !ofIndexes.includes(each));
    describe('with defects of functions, access and the like', () => {
      const found = new Map<string, string>();
      beforeAll(async () => {
        for (const { defect, edit } of others) {
          const validated = await run(copy(edit), 'validate');
          if (validated.status !== 0) found.set(defect, validated.output);
        }
        // A test takes ten times as long as `validate`, and reports all defects at once: each has a text of its own.
        const valid = others.filter(({ defect }) => !found.has(defect));
        const together = await findings(copy(...valid.map(({ edit }) => edit)), `-filter=${deploymentTest}`);
        for (const { defect } of valid) found.set(defect, together);
      });

      test.each(others)('finds $defect', ({ defect, text }) => {
        expect(found.get(defect)?.replace(/\s+/g, ' ')).toContain(text);
      });

      test('each defect that is valid Terraform has a text of its own', () => {
        const texts = others.map(({ text }) => text);
        expect(new Set(texts).size).toBe(texts.length);
      });
    });
  },
);

interface PlannedResource {
  readonly type: string;
  readonly index: string;
  readonly values: Readonly<Record<string, unknown>>;
}

interface PlannedState {
  readonly outputs: Readonly<Record<string, { readonly value: object }>>;
  readonly root_module: { readonly resources: readonly PlannedResource[] };
}

interface ServiceConfig {
  readonly environment_variables: Readonly<Record<string, string>> & { readonly SVC_SETTINGS: string };
}

interface PathMatcher {
  readonly route_rules: readonly {
    readonly priority: number;
    readonly service: string;
    readonly match_rules: readonly {
      readonly full_path_match: string | null;
      readonly path_template_match: string | null;
    }[];
  }[];
}

/** The state after the first run of the tests. */
function stateIn(output: string): PlannedState {
  for (const line of output.split('\n').filter((each) => each.startsWith('{'))) {
    const { type, test_state } = JSON.parse(line) as {
      readonly type: string;
      readonly test_state?: PlannedState;
    };
    if (type === 'test_state' && test_state !== undefined) return test_state;
  }
  throw new Error(`The tests of Terraform left no state: ${output.slice(0, 2_000)}`);
}

function resources({ root_module }: PlannedState, type: string): readonly PlannedResource[] {
  return root_module.resources.filter((each) => each.type === type);
}

const otherIndexes = {
  indexes: [
    {
      collectionGroup: 'runs',
      queryScope: 'COLLECTION_GROUP',
      fields: [
        { fieldPath: 'status', order: 'ASCENDING' },
        { fieldPath: 'tags', arrayConfig: 'CONTAINS' },
        { fieldPath: 'meaning', vectorConfig: { dimension: 384, flat: {} } },
      ],
    },
  ],
  fieldOverrides: [{ collectionGroup: 'notices', fieldPath: 'expires', ttl: true, indexes: [] }],
};

const given = `mock_provider "google" {}

variables {
  project       = "my-project"
  region        = "europe-west1"
  domain        = "svc.example.com"
  bundle        = "tests/fixtures/bundle.txt"
  settings_json = file("environments/example/svcsettings.json")
}
`;

const otherTest = `${given}
run "other" {
  command = plan

  assert {
    condition = (
      one(values(google_firestore_index.this)).query_scope == "COLLECTION_GROUP" &&
      one(values(google_firestore_index.this)).fields[0].order == "ASCENDING" &&
      one(values(google_firestore_index.this)).fields[1].array_config == "CONTAINS" &&
      one(one(values(google_firestore_index.this)).fields[2].vector_config).dimension == 384 &&
      length(one(one(values(google_firestore_index.this)).fields[2].vector_config).flat) == 1 &&
      length(one(values(google_firestore_index.this)).fields[1].vector_config) == 0 &&
      length(one(values(google_firestore_field.this)).ttl_config) == 1 &&
      length(one(values(google_firestore_field.this)).index_config[0].indexes) == 0
    )
    error_message = "An index is missing"
  }
}
`;

const notesEntry =
  'notes = { database = "user", queues = true, buckets = ["objects"], memory = "1Gi", timeout = 60 }';

const notesTest = `${given}
run "notes" {
  assert {
    condition = (
      google_cloudfunctions2_function.this["notes"].build_config[0].entry_point == "notes" &&
      google_cloudfunctions2_function.this["notes"].service_config[0].max_instance_count > 0 &&
      google_project_iam_member.database["notes"].role == "roles/datastore.user" &&
      google_cloud_tasks_queue_iam_member.enqueuer["notes/runs"].role == "roles/cloudtasks.enqueuer" &&
      google_storage_bucket_iam_member.function["notes/objects"].role == "roles/storage.objectUser" &&
      google_cloud_run_service_iam_member.public_edge["notes"].member == "allUsers" &&
      google_compute_backend_service.group["notes"].load_balancing_scheme == "EXTERNAL_MANAGED" &&
      output.deployment.functions["notes"].service == "svc-notes"
    )
    error_message = "The group has not all that it needs"
  }
}
`;
