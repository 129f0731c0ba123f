import type { WireBody, WireCase, WirePart } from '../../../contracts/generate/sdk/wire.ts';
import { canonicalJson } from '../../../functions/kernel/canonical-json.ts';
import type { SeenRequest } from './stage.ts';

/** Makes the call of a case in `sdk/wire/requests.json`. */
export async function call(client: object, { typescript, arguments: given }: WireCase): Promise<void> {
  const method = (client as Record<string, (...all: unknown[]) => Promise<unknown>>)[typescript];
  if (method === undefined) throw new Error(`there is no method ${typescript}`);
  const all: unknown[] = [...given.path];
  if (given.request !== null) all.push(requestOf(given.request));
  if (given.parameters !== null)
    all.push(Object.fromEntries(given.parameters.map(({ words, value }) => [camel(words), value])));
  if (given.idempotencyKey !== null) all.push({ idempotencyKey: given.idempotencyKey });
  await method.apply(client, all);
}

function camel([first = '', ...more]: readonly string[]): string {
  return first + more.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
}

/** JSON unchanged; files and bytes decoded. */
function requestOf(given: unknown): unknown {
  if (!isObject(given)) return given;
  if (typeof given['base64'] === 'string') return Buffer.from(given['base64'], 'base64');
  const members = Object.entries(given).map(([name, value]) =>
    isObject(value) && typeof value['base64'] === 'string'
      ? [name, { ...value, content: Buffer.from(value['base64'], 'base64') }]
      : [name, value],
  );
  return Object.fromEntries(members) as unknown;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Headers that the platform adds. */
const platform = new Set(
  'host connection content-length transfer-encoding accept accept-language accept-encoding sec-fetch-mode user-agent cache-control pragma'.split(
    ' ',
  ),
);

/** A request in the form of the cases. */
export function observed({ method, target, headers, body }: SeenRequest): WireCase['expect'] {
  const own = Object.entries(headers).filter(([name]) => !platform.has(name));
  const [type = '', boundary] = (headers['content-type'] ?? '').split('; boundary=');
  return {
    method,
    target,
    headers: Object.fromEntries(
      own.map(([name, value]) => [name, name === 'content-type' ? type : String(value)]),
    ),
    body: type === '' ? null : bodyOf(type, boundary, body),
  };
}

function bodyOf(type: string, boundary: string | undefined, body: Buffer): WireBody {
  if (type === 'application/json') return jsonOf(body);
  if (boundary === undefined) return { base64: body.toString('base64') };
  return { parts: partsOf(body, boundary) };
}

function jsonOf(body: Buffer): { readonly json: string } {
  return { json: canonicalJson(JSON.parse(body.toString())) };
}

/** The parts of a form (RFC 2046 section 5.1), parsed strictly. */
function partsOf(body: Buffer, boundary: string): WirePart[] {
  const text = body.toString('latin1');
  const [before, ...rest] = text.split(`--${boundary}`);
  if (before !== '' || rest.pop() !== '--\r\n') throw new Error('the form does not begin or end as it must');
  return rest.map((part) => {
    const [, head = '', content = ''] = /^\r\n(.*?)\r\n\r\n(.*)\r\n$/s.exec(part) ?? [];
    const form =
      /^Content-Disposition: form-data; name="([^"]*)"(?:; filename="([^"]*)")?\r\nContent-Type: (.+)$/;
    const [, name = '', filename, contentType = ''] = form.exec(head) ?? [];
    const bytes = Buffer.from(content, 'latin1');
    return {
      name,
      filename: filename === undefined ? null : filename.replaceAll('%22', '"'),
      contentType,
      body: contentType === 'application/json' ? jsonOf(bytes) : { base64: bytes.toString('base64') },
    };
  });
}
