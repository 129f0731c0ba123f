import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathNames } from '../../contracts/generate/catalog.ts';
import { SHARED_FILE } from '../../contracts/generate/compose-catalog.ts';
import { snake } from '../../contracts/generate/entries/defaults.ts';
import type { NamedParts } from '../../contracts/generate/entries/types.ts';
import { conformanceStub, handlerPath, handlerStub, inSuite, isSuite, ownSuite, registered } from './code.ts';
import { deploymentOf, startsRuns } from './deployment.ts';
import { catalogEntry, conformancePath, modelNames } from './entry.ts';
import { groupFiles } from './group.ts';
import { jobsPath, jobsStub } from './job.ts';
import { modelStubs } from './models.ts';
import { sentence } from './names.ts';
import type { NewOperation } from './request.ts';
import { withItem, withMembers } from './text.ts';
import { unfinished } from './unfinished.ts';

/** The texts of the files that an operation adds or changes, by path. Nothing is written yet. */
export function planOperation(root: string, operation: NewOperation): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  const read = (path: string): string => files.get(path) ?? readFileSync(join(root, path), 'utf8');
  const change = (path: string, by: (text: string) => string): void => {
    files.set(path, by(read(path)));
  };
  const { group, id } = operation;

  const isNew = !existsSync(join(root, `contracts/operations/${group}.json`));
  const jobs = jobsPath(group);
  const firstJob = operation.job !== null && !existsSync(join(root, jobs));
  if (isNew)
    for (const [path, text] of Object.entries(groupFiles(operation, nextPosition(root))))
      files.set(path, text);
  const names = modelNames(operation);
  change(`contracts/operations/${group}.json`, (text) =>
    withItem(
      text,
      'operations',
      catalogEntry(operation, {
        ...parsed<NamedParts>(read(SHARED_FILE)).parameters,
        ...parsed<NamedParts>(text).parameters,
      }),
    ),
  );
  const stubs = modelStubs(names, knownModels(root));
  if (Object.keys(stubs).length > 0)
    change(`contracts/schemas/${group}.schema.json`, (text) => withMembers(text, '$defs', stubs));
  const handlers = `functions/groups/${group}/handlers.ts`;
  files.set(handlerPath(operation), handlerStub(operation, read(handlers)));
  change(handlers, (text) => registered(text, operation));
  if (firstJob) files.set(jobs, jobsStub(operation));
  const suite = `test/conformance/${group}.ts`;
  if (files.has(suite) || (existsSync(join(root, suite)) && isSuite(read(suite)))) {
    files.set(conformancePath(group, id), conformanceStub(operation, read(suite)));
    change(suite, (text) => inSuite(text, operation));
  } else for (const [path, text] of Object.entries(ownSuite(operation))) files.set(path, text);
  change('sdk/scenario/scenario.json', (text) => withItem(text, 'steps', scenarioStep(operation)));
  change('CHANGELOG.md', (text) => inChangelog(text, operation));
  const deployed = isNew ? deploymentOf(operation) : firstJob ? startsRuns(operation) : {};
  for (const [path, by] of Object.entries(deployed)) change(path, by);
  return files;
}

function nextPosition(root: string): number {
  const { groups } = parsed<{ groups: object }>(
    readFileSync(join(root, 'contracts/public-sdk-surface.json'), 'utf8'),
  );
  return (Object.keys(groups).length + 1) * 10;
}

function knownModels(root: string): ReadonlySet<string> {
  const bundle = readFileSync(join(root, 'contracts/generated/schemas/svc-public.schema.json'), 'utf8');
  return new Set(Object.keys(parsed<{ $defs: object }>(bundle).$defs));
}

/** The call in the scenario of the SDKs: arguments are the path parameters, then the request. */
function scenarioStep(operation: NewOperation): object {
  const { id, path } = operation;
  const named = pathNames(path).map((name) => (name === 'tenantId' ? { kept: 'tenant' } : 'x'));
  const body = modelNames(operation).request === null ? [] : [{ name: 'example' }];
  return {
    step: unfinished(`name the step in which a client calls ${id}, and give its arguments`),
    method: { python: snake(id), typescript: id },
    arguments: [...named, ...body],
  };
}

/**
 * Below the heading of the unreleased version, after its other lines for users.
 * @testonly
 */
export function inChangelog(text: string, operation: NewOperation): string {
  const heading = /^## \S+ \(unreleased\)\n\n/m.exec(text);
  if (heading === null) throw new Error('CHANGELOG.md has no unreleased version: begin one first');
  const next = text.indexOf('\n## ', heading.index + 3);
  const section = text.slice(0, next < 0 ? text.length : next);
  const contributors = section.indexOf('\nFor contributors:', heading.index);
  const end = contributors < 0 ? section.length : contributors;
  const { method, path, stability, id } = operation;
  const line = `- ${sentence(id)}: \`${method} ${path}\`${stability === 'preview' ? ' (preview)' : ''}. ${unfinished('say what users can do now')}\n`;
  return `${text.slice(0, end)}${line}${text.slice(end)}`;
}

function parsed<T>(text: string): T {
  return JSON.parse(text) as T;
}
