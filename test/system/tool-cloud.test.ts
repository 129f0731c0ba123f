import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { serviceCollections } from '../../functions/compose/collections.ts';
import { firestoreIndexes } from '../../functions/store/firestore/indexes.ts';
import { exampleDeployment, exampleOutput } from '../support/google-cloud/deployment.ts';
import { type CloudProject, deployInto, emptyProject } from '../support/google-cloud/project.ts';
import { GoogleCloudServer } from '../support/google-cloud/server.ts';
import { type Ended, inFolder, jsonOf, runTool } from '../support/operator-tool.ts';

/** `svc doctor --cloud` as an operator runs it, with a stand-in for Google's APIs. */

const projectId = 'my-project';

interface Report {
  readonly ok: boolean;
  readonly checks: readonly { readonly id: string; readonly status: string; readonly message: string }[];
}

interface World {
  readonly folder: string;
  readonly server: GoogleCloudServer;
  readonly doctor: (...args: readonly string[]) => Promise<Ended>;
}

/** A folder with `deployment.json` and credentials that ask the stand-in for a token. */
async function inProject(use: (world: World) => Promise<void>): Promise<void> {
  const project: CloudProject = emptyProject(projectId);
  deployInto(project, exampleDeployment(projectId), firestoreIndexes(serviceCollections));
  await using server = await GoogleCloudServer.start(project);
  await inFolder(async (folder) => {
    // As `terraform output -json svc` writes it, beside other outputs.
    const outputs = { base_url: 'https://svc.example.com', deployment: exampleOutput(projectId) };
    writeFileSync(join(folder, 'deployment.json'), JSON.stringify(outputs));
    writeFileSync(join(folder, 'token.jwt'), 'a.b.c');
    const credentials = join(folder, 'credentials.json');
    writeFileSync(credentials, server.credentialFile(join(folder, 'token.jwt')));
    const env = {
      GOOGLE_APIS_ENDPOINT: server.endpoint,
      GOOGLE_APPLICATION_CREDENTIALS: credentials,
      METADATA_SERVER_DETECTION: 'none',
      HOME: folder,
    };
    const doctor = (...args: readonly string[]) =>
      runTool(['doctor', '--cloud', ...args], { cwd: folder, env });
    await use({ folder, server, doctor });
  });
}

const deployed = ['--deployment', 'deployment.json'];

describe('svc doctor --cloud', () => {
  test('finds no fault in a whole deployment, by the credentials of the machine', () =>
    inProject(async ({ doctor }) => {
      const ended = await doctor(...deployed, '--json');
      expect(ended).toMatchObject({ code: 0, stderr: '' });
      const { ok, checks } = jsonOf<Report>(ended);
      expect(ok).toBe(true);
      expect(checks.map(({ id }) => id)).toEqual(
        expect.arrayContaining(['node', 'cloud-credentials', 'cloud-indexes']),
      );
      // The settings and the database of this machine have nothing to do with it.
      expect(checks.map(({ id }) => id)).not.toEqual(expect.arrayContaining(['settings']));
    }));

  test('prints missing parts with the command that creates them, and exits with 1', () =>
    inProject(async ({ server, doctor }) => {
      server.project.enabled.delete('monitoring.googleapis.com');
      const { code, stdout } = await doctor(...deployed);
      expect(code).toBe(1);
      expect(stdout).toMatch(
        /^failed +cloud-apis +1 API of the project is off: monitoring\.googleapis\.com\.$/m,
      );
      expect(stdout).toMatch(
        /^ +-> gcloud services enable monitoring\.googleapis\.com --project=my-project$/m,
      );
    }));

  test('checks the project before the first deployment', () =>
    inProject(async ({ doctor }) => {
      const ended = await doctor('--project', projectId, '--output', 'json');
      expect(ended.code).toBe(0);
      expect(jsonOf<Report>(ended).checks.map(({ id }) => id)).not.toContain('cloud-database');
    }));

  test.each(['invalid_grant', 'invalid_request'])('says that the credentials are refused: %s', (word) =>
    inProject(async ({ server, doctor }) => {
      server.tokenRefusal = word;
      const { code, stdout, stderr } = await doctor(...deployed);
      expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
      expect(stdout).toContain(`Google gives no token for the credentials (${word}).`);
      expect(stdout).toContain('-> gcloud auth application-default login');
      expect(stdout).not.toContain('a.b.c');
    }),
  );

  test('says that the machine has no credentials', () =>
    inProject(async ({ folder, server }) => {
      const env = { GOOGLE_APIS_ENDPOINT: server.endpoint, METADATA_SERVER_DETECTION: 'none', HOME: folder };
      const { code, stdout } = await runTool(['doctor', '--cloud', ...deployed], { cwd: folder, env });
      expect(code).toBe(1);
      expect(stdout).toContain('This machine has no credentials of Google Cloud.');
    }));

  test('uses the token that Terraform uses, and never prints it', () =>
    inProject(async ({ folder, server }) => {
      const env = {
        GOOGLE_APIS_ENDPOINT: server.endpoint,
        GOOGLE_OAUTH_ACCESS_TOKEN: server.token,
        HOME: folder,
      };
      const args = ['doctor', '--cloud', ...deployed, '--verbose'];
      const { code, stdout, stderr } = await runTool(args, { cwd: folder, env });
      expect(code).toBe(0);
      expect(stderr).toContain(`GET cloudresourcemanager.googleapis.com/v3/projects/${projectId} 200`);
      expect(`${stdout}${stderr}`).not.toContain(server.token);
    }));

  test('says that the network is at fault', () =>
    inProject(async ({ doctor }) => {
      const { code, stdout } = await doctor(
        ...deployed,
        '--google-apis',
        // A port of the system that no service uses.
        'http://127.0.0.1:2',
      );
      expect(code).toBe(1);
      expect(stdout).toMatch(/^failed +cloud-network +.*does not answer \(ECONNREFUSED\)/m);
    }));

  test('refuses a command line that it cannot follow', () =>
    inProject(async ({ folder, doctor }) => {
      writeFileSync(join(folder, 'other.json'), '{"project_id":"my-project"}');
      const refused: [string[], RegExp][] = [
        [[], /Name the project/],
        [['--deployment', 'none.json'], /none\.json/],
        [['--deployment', 'token.jwt'], /token\.jwt: is no JSON object/],
        [
          ['--deployment', 'other.json'],
          /other\.json: location is missing\. Write it with: terraform output/,
        ],
        [['--project', 'MY PROJECT'], /is not a project id/],
        [[...deployed, '--project', 'another-project'], /a deployment in the project my-project/],
        [[...deployed, '--Server:Port=1'], /takes no settings/],
        [[...deployed, '--google-apis', 'http://apis.example.com'], /no https address/],
      ];
      for (const [args, message] of refused) {
        const { code, stdout, stderr } = await doctor(...args);
        expect({ args, code, stdout }).toEqual({ args, code: args[1] === 'none.json' ? 3 : 2, stdout: '' });
        expect(stderr).toMatch(message);
      }
      const alone = await runTool(['doctor', '--deployment', 'x.json'], { cwd: folder });
      expect(alone).toMatchObject({ code: 2, stderr: '--deployment goes with --cloud\n' });
    }));
});
