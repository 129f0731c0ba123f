/** The contract as the API reference shows it: with code of the clients in each operation. */
export const SAMPLED_CONTRACT_PATH = '/docs/openapi.json';

interface Operation {
  readonly 'x-svc-operation-id'?: string;
}

interface Contract {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

/** `samples`: the bytes of `functions/docs/samples.json`, samples by the id of the operation. */
export function sampledContract(contract: object, samples: Uint8Array): string {
  const byOperation = JSON.parse(Buffer.from(samples).toString()) as Readonly<Record<string, unknown>>;
  const paths = mapped((contract as Contract).paths, (item) =>
    mapped(item, (operation) => ({
      ...operation,
      'x-codeSamples': byOperation[operation['x-svc-operation-id'] ?? ''],
    })),
  );
  return JSON.stringify({ ...contract, paths });
}

function mapped<T, U>(object: Readonly<Record<string, T>>, change: (value: T) => U): Record<string, U> {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, change(value)]));
}
