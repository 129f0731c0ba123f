import { join } from 'node:path';
import {
  type GrpcObject,
  loadPackageDefinition,
  Server,
  ServerCredentials,
  type ServiceClientConstructor,
  type sendUnaryData,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { attributeOf, type BlockSchema, dataSourceSchemas, resourceSchemas } from '../schema.ts';

/**
 * A provider for `terraform validate` and `terraform test` that knows the schema of resources and makes none. Terraform
 * attaches to it by an environment variable, so that nothing is downloaded.
 */
export interface StubProvider {
  readonly environment: Readonly<Record<string, string>>;
  stop(): void;
}

const single = 1;
const list = 2;
const set = 3;

/** The arguments of the provider itself. */
const provider: BlockSchema = { attributes: { project: 'string', region: 'string', zone: 'string' } };

function wireBlock({ attributes = {}, blocks = {} }: BlockSchema): object {
  return {
    version: 0,
    attributes: Object.entries(attributes).map(([name, text]) => {
      const { type, ...use } = attributeOf(text);
      return { name, type: Buffer.from(JSON.stringify(type)), ...use };
    }),
    block_types: Object.entries(blocks).map(([type_name, block]) => ({
      type_name,
      block: wireBlock(block),
      nesting: type_name === 'timeouts' ? single : block.set === true ? set : list,
      min_items: block.min ?? 0,
      max_items: block.max ?? 0,
    })),
  };
}

function wireSchemas(schemas: Readonly<Record<string, BlockSchema>>): object {
  return Object.fromEntries(
    Object.entries(schemas).map(([name, block]) => [name, { version: 0, block: wireBlock(block) }]),
  );
}

type Answer = (request: object) => object;

const answers: Readonly<Record<string, Answer>> = {
  GetSchema: () => ({
    provider: { version: 0, block: wireBlock(provider) },
    resource_schemas: wireSchemas(resourceSchemas),
    data_source_schemas: wireSchemas(dataSourceSchemas),
    diagnostics: [],
  }),
  PrepareProviderConfig: (request) => ({
    prepared_config: (request as { readonly config: object }).config,
    diagnostics: [],
  }),
  ValidateResourceTypeConfig: () => ({ diagnostics: [] }),
  ValidateDataSourceConfig: () => ({ diagnostics: [] }),
};

export async function startStubProvider(): Promise<StubProvider> {
  const definition = loadSync(join(import.meta.dirname, 'tfplugin5.proto'), { keepCase: true });
  const { tfplugin5 } = loadPackageDefinition(definition) as { readonly tfplugin5: GrpcObject };
  const { service } = tfplugin5['Provider'] as ServiceClientConstructor;
  const implementation: UntypedServiceImplementation = {};
  for (const [name, answer] of Object.entries(answers)) {
    implementation[name] = (call: { readonly request: object }, callback: sendUnaryData<object>) =>
      callback(null, answer(call.request));
  }
  const server = new Server();
  server.addService(service, implementation);
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) => {
      if (error === null) resolve(bound);
      else reject(error);
    });
  });
  const attached = {
    Protocol: 'grpc',
    ProtocolVersion: 5,
    Pid: process.pid,
    Test: true,
    Addr: { Network: 'tcp', String: `127.0.0.1:${port}` },
  };
  return {
    environment: {
      TF_REATTACH_PROVIDERS: JSON.stringify({ 'hashicorp/google': attached }),
      TF_CLI_CONFIG_FILE: '/dev/null',
      TF_IN_AUTOMATION: 'true',
      CHECKPOINT_DISABLE: '1',
    },
    stop: () => server.forceShutdown(),
  };
}
