import type { ContractSource } from '../source.ts';
import { sdkContract } from './build-ir.ts';
import { PYTHON_GENERATED, pythonOutputs } from './python.ts';
import { typescriptClient, typescriptGroupClient, typescriptPackage } from './typescript-client.ts';
import { typescriptGroup } from './typescript-group.ts';
import { typescriptIndex } from './typescript-index.ts';
import { typescriptModels, typescriptProblems, typescriptVersion } from './typescript-models.ts';
import { typescriptOperations } from './typescript-operations.ts';
import { wireRequests } from './wire.ts';

const TYPESCRIPT = 'sdk/typescript/src/generated';

/** The folders that hold only generated files of the SDKs. */
export const SDK_FOLDERS: readonly string[] = [TYPESCRIPT, PYTHON_GENERATED];

/** The generated files of the SDKs, by path from the root. */
export function sdkOutputs(source: ContractSource): ReadonlyMap<string, string> {
  const contract = sdkContract(source);
  return new Map([
    [`${TYPESCRIPT}/models.ts`, typescriptModels(contract)],
    [`${TYPESCRIPT}/client.ts`, typescriptClient(contract)],
    ...contract.groups.flatMap((group): [string, string][] => [
      [`${TYPESCRIPT}/operations/${group.name}.ts`, typescriptOperations(contract, group)],
      [`${TYPESCRIPT}/groups/${group.name}.ts`, typescriptGroup(contract, group)],
      [`${TYPESCRIPT}/clients/${group.name}.ts`, typescriptGroupClient(contract, group)],
    ]),
    [`${TYPESCRIPT}/problems.ts`, typescriptProblems(contract)],
    [`${TYPESCRIPT}/version.ts`, typescriptVersion(contract)],
    ['sdk/typescript/package.json', typescriptPackage(contract, source.license)],
    ['sdk/typescript/api.md', typescriptIndex(contract)],
    ...pythonOutputs(contract),
    ['sdk/wire/requests.json', `${JSON.stringify(wireRequests(contract), null, 2)}\n`],
  ]);
}
