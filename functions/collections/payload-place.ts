/** Where a payload lies. The content is text; `reference` is a name of the service's own. */
export interface PayloadPlace {
  put(reference: string, bytes: Uint8Array): Promise<void>;
  get(reference: string, bytesMax: number): Promise<Uint8Array | null>;
  remove(reference: string): Promise<void>;
}
