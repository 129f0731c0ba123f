import type { JsonBounds, OverLimit, Stability } from '../contracts/operation.ts';

/** The parts of the contract files that later versions are held against. */

export interface Catalog {
  readonly catalogVersion: string;
  readonly authorizationClasses: Readonly<Record<string, { readonly security: readonly object[] }>>;
  readonly operations: readonly CatalogOperation[];
}

export interface CatalogOperation {
  readonly id: string;
  readonly routes: readonly {
    readonly operationId: string;
    readonly method: string;
    readonly path: string;
  }[];
  readonly authorizationClass: string;
  readonly accessOperation: string | null;
  readonly mutation: string;
  readonly completion: string;
  readonly idempotency: object;
  readonly sdk: object;
  readonly mcp: { readonly exposure: string };
  readonly stability: Stability;
  readonly request: CatalogRequest | null;
  readonly responses: readonly { readonly status: number }[];
  readonly problems: readonly string[];
}

export interface CatalogRequest {
  readonly bodyLimitBytes: number;
  readonly json?: JsonBounds;
  readonly overLimit?: Pick<OverLimit, 'problem'>;
}

export interface ErrorCode {
  readonly code: string;
  readonly status: number;
  readonly retryable: boolean;
}

export interface Limit {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
}

export interface OpenApi {
  readonly paths: Record<string, Record<string, OpenApiOperation>>;
  readonly components: { readonly schemas: Record<string, OpenApiSchema> };
}

export interface OpenApiOperation {
  operationId: string;
  security: readonly object[];
  readonly responses: Record<string, object>;
  readonly parameters?: { readonly name: string; schema: object }[];
}

export interface OpenApiSchema {
  required: string[];
  enum: (string | null)[];
  readonly properties: Record<string, Record<string, unknown>>;
}
