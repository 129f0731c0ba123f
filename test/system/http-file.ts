/** A request of an `.http` file, as editors send it. */
export interface FileRequest {
  /** Of the line `# @name`; null without one. */
  readonly name: string | null;
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/**
 * The requests of the file in their order: variables, `###` between requests, comments, a head, a blank line, a body.
 * `values` replaces the variables that the file sets itself.
 */
export function requestsIn(
  text: string,
  values: Readonly<Record<string, string>> = {},
): readonly FileRequest[] {
  const [head = '', ...parts] = text.split(/^###.*$/m);
  const known = new Map(
    [...head.matchAll(/^@(\w+) *= *(.*)$/gm)].map(([, name = '', value = '']) => [name, value]),
  );
  for (const [name, value] of Object.entries(values)) known.set(name, value);
  const filled = (given: string) =>
    given.replace(/\{\{(\w+)\}\}/g, (_, name: string) => {
      const value = known.get(name);
      if (value === undefined) throw new Error(`there is no variable ${name}`);
      return value;
    });
  return parts.map((part) => requestOf(filled(part.trim())));
}

function requestOf(text: string): FileRequest {
  const [top = '', ...rest] = text.split('\n\n');
  const lines = top.split('\n');
  const [, name = null] = /^# @name (\S+)$/m.exec(top) ?? [];
  const [line = '', ...fields] = lines.filter((each) => !each.startsWith('#'));
  const [method = '', url = ''] = line.split(' ');
  const headers = Object.fromEntries(
    fields.map((field) => {
      const [, title = '', value = ''] = /^([^:]+): *(.*)$/.exec(field) ?? [];
      return [title, value];
    }),
  );
  const body = rest.join('\n\n').trim();
  return { name, method, url, headers, ...(body === '' ? {} : { body }) };
}
