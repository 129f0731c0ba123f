/** A request of an `.http` file, as editors send it. */
export interface FileRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** The requests of the file in their order. `values` replaces the variables that the file sets itself. */
export function requestsIn(text: string, values: Readonly<Record<string, string>>): readonly FileRequest[] {
  const [head = '', ...parts] = text.split(/^###.*$/m);
  const own = Object.fromEntries(
    [...head.matchAll(/^@(\w+) *= *(.*)$/gm)].map(([, name = '', value = '']) => [name, value]),
  );
  const known: Readonly<Record<string, string>> = { ...own, ...values };
  const filled = (given: string) =>
    given.replace(/\{\{(\w+)\}\}/g, (_, name: string) => known[name] ?? `unknown variable ${name}`);
  return parts.map((part) => requestOf(filled(part.trim())));
}

function requestOf(text: string): FileRequest {
  const [top = '', ...rest] = text.split(/\n\n/);
  const [line = '', ...fields] = top.split('\n');
  const [method = '', url = ''] = line.split(' ');
  const headers = Object.fromEntries(fields.map((field) => field.split(/: */, 2) as [string, string]));
  const body = rest.join('\n\n').trim();
  return { method, url, headers, ...(body === '' ? {} : { body }) };
}
