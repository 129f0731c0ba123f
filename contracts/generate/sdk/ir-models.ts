import { describe } from '../emit-models.ts';
import { modelRoles, PROBLEM_MODEL } from '../roles.ts';
import type { Model } from '../schema.ts';
import type { ContractSource } from '../source.ts';
import type { ModelShape, SdkModel, SdkOperation } from './ir.ts';
import { modelsIn, sdkType } from './types.ts';

/** The models that an operation outside preview uses. */
export function settledModels(
  operations: readonly SdkOperation[],
  models: ReadonlyMap<string, ModelShape>,
): ReadonlySet<string> {
  const settled = new Set<string>();
  const open = [
    PROBLEM_MODEL,
    ...operations.filter(({ stability }) => stability !== 'preview').flatMap(modelsOf),
  ];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    const model = models.get(name);
    if (model === undefined || settled.has(name)) continue;
    settled.add(name);
    const types = [
      ...(model.members ?? []).map(({ type }) => type),
      ...(model.type === null ? [] : [model.type]),
    ];
    open.push(...types.flatMap(modelsIn));
  }
  return settled;
}

function modelsOf({ request, responses }: SdkOperation): readonly string[] {
  const answers = responses.flatMap(({ body }) => (body?.kind === 'json' ? [body.model] : []));
  return request === null || request.kind === 'bytes' ? answers : [request.model, ...answers];
}

/** The published models, in the order of their files. */
export function modelShapes(source: ContractSource): readonly ModelShape[] {
  const roles = modelRoles(source);
  return [...source.models.values()]
    .filter(({ name }) => roles.published.has(name))
    .map((model) => {
      const [request, response] = [roles.request.has(model.name), roles.response.has(model.name)];
      return modelShape(model, request && response ? 'both' : request ? 'request' : 'response');
    });
}

function modelShape({ name, file, schema }: Model, role: SdkModel['role']): ModelShape {
  const required = new Set(schema.required ?? []);
  const members = Object.entries(schema.properties ?? {}).map(([member, memberSchema]) => ({
    name: member,
    required: required.has(member),
    type: sdkType(memberSchema),
    description: describe(memberSchema),
    deprecated: memberSchema.deprecated === true,
  }));
  const named = schema.properties !== undefined;
  return {
    name,
    file,
    description: describe(schema),
    deprecated: schema.deprecated === true,
    role,
    keepsMembers: schema.additionalProperties === true,
    members: named ? members : null,
    type: named ? null : sdkType(schema),
    example: schema.examples?.[0] ?? null,
  };
}
