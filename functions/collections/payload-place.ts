/** A place for payloads. The content is text; the service chooses the name `reference`. */
export interface PayloadPlace {
  put(reference: string, bytes: Uint8Array): Promise<void>;
  get(reference: string, bytesMax: number): Promise<Uint8Array | null>;
  remove(reference: string): Promise<void>;
}
