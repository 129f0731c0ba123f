import { schemaBundle } from './bundle.ts';
import { lintCatalog } from './catalog-lint.ts';
import { publicSurface } from './compose-catalog.ts';
import { errorsPage, limitsPage, operationsPage } from './emit-docs.ts';
import { emitGroupModules, emitGroups } from './emit-groups.ts';
import { emitMcpDefinitions, emitMcpExposures } from './emit-mcp.ts';
import { emitModels } from './emit-models.ts';
import { openApiDocument } from './emit-openapi.ts';
import { emitOperations } from './emit-operations.ts';
import { emitErrors, emitLimits } from './emit-tables.ts';
import { emitValidators } from './emit-validators.ts';
import { ContractFaults } from './faults.ts';
import { lintTools } from './mcp/lint.ts';
import { lintProfile } from './profile-lint.ts';
import { sdkContract } from './sdk/build-ir.ts';
import { httpFiles } from './sdk/http-files.ts';
import { SDK_FOLDERS, sdkOutputs } from './sdk/outputs.ts';
import { codeSamples } from './sdk/samples.ts';
import type { ContractSource } from './source.ts';

/** The folder that holds generated files and nothing else. */
const GENERATED = 'contracts/generated';

const COMPOSED = 'functions/compose/generated';

/** Requests for the HTTP clients of editors. */
const HTTP_FILES = 'docs/http';

/** Every folder of that kind. */
export const FOLDERS: readonly string[] = [GENERATED, COMPOSED, HTTP_FILES, ...SDK_FOLDERS];

/**
 * Every generated file by its path from the root; the same source gives the same files. Throws `ContractFaults` for an
 * invalid contract. `root` is the folder of the evidence files that the catalog names.
 */
export async function generate(source: ContractSource, root?: string): Promise<ReadonlyMap<string, string>> {
  const catalogFaults = lintCatalog(source, root);
  const faults = catalogFaults.length > 0 ? catalogFaults : [...lintProfile(source), ...lintTools(source)];
  if (faults.length > 0) throw new ContractFaults(faults);
  const validators = await emitValidators(source);
  return new Map([
    [`${GENERATED}/models.ts`, emitModels(source)],
    [`${GENERATED}/groups.ts`, emitGroups(source)],
    [`${COMPOSED}/groups.ts`, emitGroupModules(source)],
    ...[...emitOperations(source)].map(([name, text]) => [`${GENERATED}/${name}`, text] as const),
    ['contracts/public-sdk-surface.json', json(publicSurface(source.catalog))],
    [`${GENERATED}/errors.ts`, emitErrors(source)],
    [`${GENERATED}/limits.ts`, emitLimits(source)],
    [`${GENERATED}/openapi/svc.json`, json(openApiDocument(source))],
    [`${GENERATED}/schemas/svc-public.schema.json`, json(schemaBundle(source))],
    [`${GENERATED}/mcp/definitions.json`, json(emitMcpDefinitions(source))],
    [`${GENERATED}/mcp/exposures.ts`, emitMcpExposures(source)],
    ...[...validators].map(([name, text]) => [`${GENERATED}/validators/${name}`, text] as const),
    ['docs/reference/operations.md', operationsPage(source)],
    ['docs/reference/errors.md', errorsPage(source)],
    ['docs/reference/limits.md', limitsPage(source)],
    ...sdkOutputs(source),
    // Beside the API reference: it alone shows them, and the published document stays as small as its readers need it.
    ['functions/docs/samples.json', json(codeSamples(sdkContract(source)))],
    ...[...httpFiles(sdkContract(source))].map(([name, text]) => [`${HTTP_FILES}/${name}`, text] as const),
  ]);
}

function json(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
