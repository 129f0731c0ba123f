import type { InjectedRequest, InjectedResponse } from '../../functions/http/host-inject.ts';

export type Call = (request: InjectedRequest) => Promise<InjectedResponse>;
export type Headers = Readonly<Record<string, string>>;

/** Callers that are granted everything that a tenant of a shared deployment is granted. */
export interface Party {
  readonly tenantId: string;
  readonly productId: string;
  readonly workerId: string;
  /** In all content of the party. */
  readonly mark: string;
  readonly headers: Headers;
}
