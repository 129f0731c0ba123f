import { Ajv2020 } from 'ajv/dist/2020.js';

/** JSON Schemas by the names of their files, by which they refer to each other. */
export type Shapes = Readonly<Record<string, object>>;

export function compiledShapes(shapes: Shapes): Ajv2020 {
  const ajv = new Ajv2020({ allErrors: true, strict: true, allowUnionTypes: true, strictRequired: false });
  for (const [name, schema] of Object.entries(shapes)) ajv.addSchema(schema, name);
  return ajv;
}

/** The faults of a file of the contract against a definition such as `catalog.schema.json#/$defs/CatalogFile`. */
export function shapeFaults(
  ajv: Ajv2020,
  definition: string,
  path: string,
  value: object,
): readonly string[] {
  if (ajv.validate({ $ref: definition }, value)) return [];
  const entries = 'operations' in value && Array.isArray(value.operations) ? value.operations : [];
  const ids = entries.map((entry: { readonly id?: string } | null) => entry?.id);
  const place = (pointer: string) =>
    pointer.replace(/^\/operations\/(\d+)/, (whole, index) => ids[Number(index)] ?? whole);
  return (ajv.errors ?? []).map(({ instancePath, message, params }) => {
    const more = 'additionalProperty' in params ? `: ${String(params['additionalProperty'])}` : '';
    return `${path}: ${place(instancePath)} ${message}${more}`;
  });
}
