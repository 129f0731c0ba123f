import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { infraFolder } from '../infra/configuration.ts';
import { type WayToRun, type WorkloadToRun, waysToRun } from '../infra/ways-to-run.ts';
import { inFolder, runTool } from '../support/operator-tool.ts';

/** The examples of containers in `infra/`. */

const fillIn = (text: string) =>
  text.replaceAll('my-project', 'claims-prod').replaceAll('svc.example.com', 'svc.claims.example');
const all = ({ compose, workloads }: ReturnType<typeof waysToRun>): WayToRun[] => [compose, ...workloads];
const examples = waysToRun();
const asTheyAre = all(examples);
const filledIn = all(waysToRun(fillIn));
const [sqlite, postgresql, cloudRun] = examples.workloads as [WorkloadToRun, WorkloadToRun, WorkloadToRun];

interface Checked {
  readonly ok: boolean;
  readonly environment: string;
  readonly findings: readonly { readonly key: string; readonly message: string }[];
}

/** The report of `svc config check` on the settings and variables with which the server would start. */
function checked({ settings, variables }: WayToRun): Promise<Checked> {
  return inFolder(async (folder) => {
    const [file, env] = [join(folder, 'svcsettings.json'), join(folder, 'svc.env')];
    writeFileSync(file, settings);
    const lines = Object.entries(variables).map(([name, value]) => `${name}='${value}'\n`);
    writeFileSync(env, lines.join(''), { mode: 0o600 });
    const { stdout } = await runTool(['config', 'check', file, '--env-file', env, '--strict', '--json']);
    return JSON.parse(stdout) as Checked;
  });
}

test('there are four examples, and no manifest beside them', () => {
  expect(asTheyAre.map(({ name }) => name)).toEqual([
    'compose',
    'kubernetes/sqlite',
    'kubernetes/postgresql',
    'cloud-run',
  ]);
  const manifests = ['compose', 'kubernetes', 'cloud-run'].flatMap((folder) =>
    readdirSync(join(infraFolder, folder)).filter((name) => name.endsWith('.yaml')),
  );
  expect(manifests.sort()).toEqual(['compose.yaml', 'postgresql.yaml', 'service.yaml', 'sqlite.yaml']);
});

test.each(filledIn)(
  '$name starts without a fault and without a doubt once names are filled in',
  async (way) => {
    expect(await checked(way)).toMatchObject({ ok: true, environment: 'Production', findings: [] });
  },
);

test.each(asTheyAre)('$name is refused with the names of the example', async (way) => {
  const { ok, findings } = await checked(way);
  expect(ok).toBe(false);
  const messages = findings.map(({ message }) => message).join('\n');
  for (const name of ['my-project', 'svc.example.com']) expect(messages).toContain(`holds ${name}, which`);
});

test('a misspelt setting in an example is found', async () => {
  const [way] = filledIn as [WayToRun];
  const { ok, findings } = await checked({
    ...way,
    variables: { ...way.variables, Server__TrustedHops: '1' },
  });
  expect([ok, findings.map(({ key }) => key)]).toEqual([false, ['Server:TrustedHops']]);
});

test.each(asTheyAre)('$name names no image by latest, and each with a tag or a digest', ({ images }) => {
  for (const image of images) expect(image).toMatch(/(:(?!latest$)[\w.-]+|@sha256:\w+)$/);
});

describe.each([sqlite, postgresql])('$name', ({ pod, workload }) => {
  const [container] = pod.containers;

  test('runs as the user of the image without rights, from a read-only root', () => {
    expect(pod.securityContext).toMatchObject({ runAsUser: 10001, runAsGroup: 10001, runAsNonRoot: true });
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    const mounts = container.volumeMounts.map(({ mountPath }) => mountPath);
    expect(mounts).toEqual(expect.arrayContaining(['/etc/svc', '/tmp', '/var/lib/svc']));
  });

  test('has probes, and time to drain', () => {
    expect(container.startupProbe.httpGet).toEqual({ path: '/health', port: 'http' });
    expect(container.livenessProbe.httpGet).toEqual({ path: '/health', port: 'http' });
    expect(container.readinessProbe.httpGet).toEqual({ path: '/readiness?status=true', port: 'http' });
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(30);
    expect(pod.enableServiceLinks).toBe(false);
  });

  test('selects its own pods', () => {
    expect(workload.spec.selector.matchLabels).toEqual(workload.spec.template.metadata.labels);
  });
});

test('the file of SQLite has one writer, on a disk of one node', () => {
  const { kind, spec } = sqlite.workload;
  expect([kind, spec.replicas]).toEqual(['StatefulSet', 1]);
  expect(spec.volumeClaimTemplates).toMatchObject([{ spec: { accessModes: ['ReadWriteOncePod'] } }]);
});

test('several servers share PostgreSQL, and a bucket of artifacts', () => {
  for (const { settings, variables } of [postgresql, cloudRun]) {
    expect(JSON.parse(settings)).toMatchObject({ CanonicalStore: { Provider: 'postgresql' } });
    expect(variables['ExecutionRuntime__ArtifactObjectContainer']).toBe('my-project-svc-artifacts');
  }
});

test('Cloud Run keeps an instance with its CPU, and drains before it is killed', () => {
  const { workload, pod, variables } = cloudRun;
  expect(workload.spec.template.metadata.annotations).toMatchObject({
    'autoscaling.knative.dev/minScale': '1',
    'run.googleapis.com/cpu-throttling': 'false',
  });
  expect(Number(variables['Server__DrainSeconds'])).toBeLessThan(10);
  expect(pod.containers[0].ports).toEqual([{ name: 'http1', containerPort: Number(variables['PORT']) }]);
});

test('Compose opens the proxy alone, and the server and the worker drain', () => {
  const { services } = examples.compose;
  const open = Object.entries(services).filter(([, { ports = [] }]) => ports.length > 0);
  expect(open.map(([name]) => name)).toEqual(['proxy']);
  for (const name of ['server', 'worker'])
    expect(services[name]).toMatchObject({
      read_only: true,
      tmpfs: ['/tmp'],
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
      stop_grace_period: '30s',
    });
  expect(services['server']).toMatchObject({ depends_on: { database: { condition: 'service_healthy' } } });
});

test('the proxy of Compose has the limits of that on one machine', () => {
  const [machine, compose] = ['embedded', 'compose'].map((folder) =>
    readFileSync(join(infraFolder, folder, 'Caddyfile'), 'utf8').replace(/^\s*#.*\n/gm, ''),
  );
  const moved = machine?.replace('svc.example.com {', '{$DOMAIN} {').replace('127.0.0.1:5220', 'server:5220');
  expect(moved).toContain('reverse_proxy server:5220');
  expect(compose).toBe(moved);
});
