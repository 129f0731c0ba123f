import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { infraFolder } from './configuration.ts';
import { imageVariables } from './image-file.ts';

/** The examples of containers, as the server in them would be started. */

interface Probe {
  readonly httpGet: { readonly path: string; readonly port?: string };
}

interface Container {
  readonly image: string;
  readonly env: readonly { readonly name: string; readonly value?: string }[];
  readonly ports: readonly object[];
  readonly volumeMounts: readonly { readonly mountPath: string }[];
  readonly securityContext: object;
  readonly startupProbe: Probe;
  readonly livenessProbe: Probe;
  readonly readinessProbe: Probe;
}

interface Pod {
  readonly containers: readonly [Container, ...Container[]];
  readonly securityContext: object;
  readonly terminationGracePeriodSeconds: number;
  readonly enableServiceLinks: boolean;
}

/** A document of YAML: a workload, or another kind that has only some of these members. */
interface Manifest {
  readonly kind: string;
  readonly data: Readonly<Record<string, string>>;
  readonly spec: {
    readonly replicas: number;
    readonly selector: { readonly matchLabels: object };
    readonly template: {
      readonly metadata: { readonly labels: object; readonly annotations: object };
      readonly spec: Pod;
    };
    readonly volumeClaimTemplates: readonly { readonly spec: { readonly accessModes: readonly string[] } }[];
  };
}

interface ComposeService {
  readonly image: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly ports?: readonly string[];
}

export interface WayToRun {
  readonly name: string;
  /** `svcsettings.json` in the working folder of the server. */
  readonly settings: string;
  /** All variables of the server, those of the image included. */
  readonly variables: Readonly<Record<string, string>>;
  /** Every image that the example names. */
  readonly images: readonly string[];
}

/** A workload of Kubernetes or of Cloud Run. */
export interface WorkloadToRun extends WayToRun {
  readonly workload: Manifest;
  readonly pod: Pod;
}

export interface WaysToRun {
  readonly compose: WayToRun & { readonly services: Readonly<Record<string, ComposeService>> };
  readonly workloads: readonly WorkloadToRun[];
}

/** An address in place of the secret that the operator makes. */
const ADDRESS = 'postgresql://svc:pass@db.shop.example/svc';

const text = (path: string) => readFileSync(join(infraFolder, path), 'utf8');
const ofImage = imageVariables(text('image/Dockerfile'));

/** Reads all examples. `fillIn` stands for the operator who puts own names in the place of those in the files. */
export function waysToRun(fillIn: (text: string) => string = (same) => same): WaysToRun {
  const documents = (path: string) =>
    parseAllDocuments(fillIn(text(path)), { strict: true, uniqueKeys: true }).map((document) => {
      if (document.errors.length > 0) throw new Error(`${path}: ${document.errors.join('\n')}`);
      return document.toJS() as Manifest;
    });
  const kubernetes = ['sqlite', 'postgresql'].map((name) => {
    const all = documents(`kubernetes/${name}.yaml`);
    const settings = all.find(({ kind }) => kind === 'ConfigMap')?.data['svcsettings.json'];
    return workloadToRun(`kubernetes/${name}`, workloadIn(all), settings ?? '');
  });
  const service = workloadIn(documents('cloud-run/service.yaml'));
  const settings = fillIn(text('cloud-run/svcsettings.json'));
  const cloudRun = workloadToRun('cloud-run', service, settings, { K_SERVICE: 'svc' });
  return {
    compose: composed(fillIn(text('compose/compose.yaml')), fillIn(text('compose/svcsettings.json'))),
    workloads: [...kubernetes, cloudRun],
  };
}

function workloadIn(documents: readonly Manifest[]): Manifest {
  const kinds = new Set(['StatefulSet', 'Deployment', 'Service']);
  const found = documents.find(({ kind, spec }) => kinds.has(kind) && 'template' in spec);
  if (found === undefined) throw new Error('There is no workload');
  return found;
}

function workloadToRun(
  name: string,
  workload: Manifest,
  settings: string,
  more: Readonly<Record<string, string>> = {},
): WorkloadToRun {
  const pod = workload.spec.template.spec;
  const [{ env }] = pod.containers;
  const given = Object.fromEntries(env.map(({ name: key, value }) => [key, value ?? ADDRESS]));
  const images = pod.containers.map(({ image }) => image);
  return { name, workload, pod, settings, variables: { ...ofImage, ...more, ...given }, images };
}

function composed(file: string, settings: string): WaysToRun['compose'] {
  // As Compose replaces them: a variable with a default, or one that must be set.
  const filled = file.replace(
    /\$\{\w+(:-([^}]*)|:\?[^}]*)\}/g,
    (_, __, fallback?: string) => fallback ?? 'value',
  );
  const { services } = parse(filled, { strict: true, uniqueKeys: true }) as Pick<
    WaysToRun['compose'],
    'services'
  >;
  const variables = { ...ofImage, ...services['server']?.environment };
  const images = Object.values(services).map(({ image }) => image);
  return { name: 'compose', services, settings, variables, images };
}
