/** A client that is connected to the endpoint. */
export interface Session {
  /** The names of the tools. */
  readonly list: () => Promise<readonly string[]>;
  readonly call: (name: string, args: object) => Promise<Answer>;
  /** The text of a resource; absent: the client reads none. */
  readonly read?: (uri: string) => Promise<string>;
  readonly close: () => Promise<void>;
}

/** What the client gives a program, or its model, of the result of a tool. */
export interface Answer {
  readonly text: string;
  readonly structured?: unknown;
}

export interface Target {
  /** The address of the endpoint, behind that of the service. */
  readonly url: string;
  readonly server: string;
  readonly key: string;
  readonly keyFile: string;
  /** The folder with the packages of the client. */
  readonly folder: string;
  /** The mode of the client. */
  readonly option: string;
}

export type Open = (target: Target) => Promise<Session>;

/** The header field of an API key. */
export function credentials({ key }: Target): Readonly<Record<string, string>> {
  return { 'X-Svc-Api-Key': key };
}

/** The result of `tools/call` as most clients hand it on. */
export interface CallResult {
  readonly content?: unknown;
  readonly structuredContent?: unknown;
  readonly isError?: unknown;
}

export function answerOf({ content, structuredContent, isError }: CallResult): Answer {
  const parts = Array.isArray(content) ? (content as readonly { readonly text?: unknown }[]) : [];
  const text = parts.map((part) => (typeof part.text === 'string' ? part.text : '')).join('\n');
  if (isError === true) throw new Error(`the tool answers an error: ${text}`);
  return structuredContent === undefined ? { text } : { text, structured: structuredContent };
}

export function textOf({ contents }: { readonly contents: readonly object[] }): string {
  return contents.map((part) => ('text' in part ? String(part.text) : '')).join('\n');
}
