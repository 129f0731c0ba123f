import type { Headers } from './headers.ts';
import type { RawResponse } from './message.ts';

/** Cross-origin access for browsers (Fetch standard). Without origins nothing is sent, and browsers refuse. */
export interface CorsSettings {
  /** Exact origins, such as `http://localhost:5173`. */
  readonly allowedOrigins: readonly string[];
}

export interface Cors {
  /** The answer to a preflight request of an allowed origin; `null` for any other request. */
  preflight(method: string, headers: Headers): RawResponse | null;
  /** The fields of an answer to a request, with those for browsers; `null` where the fields of the request could not be read. */
  answered(request: Headers | null, fields: Fields): Fields;
}

type Fields = RawResponse['headers'];

const EXPOSED = [
  'X-Correlation-ID',
  'Retry-After',
  'RateLimit',
  'RateLimit-Policy',
  'Location',
  'Idempotency-Replayed',
  'Link',
  'Svc-Truncated',
  'Svc-Unknown-Handlers',
  'ETag',
  'Content-Range',
  'Accept-Ranges',
  'Content-Disposition',
  'X-Svc-Content-Hash',
  'WWW-Authenticate',
];
/** Fields of an answer whose names only the answer shows. */
const EXPOSED_PREFIX = 'x-svc-meta-';

export function createCors(settings: CorsSettings): Cors {
  const origins = new Set(settings.allowedOrigins);
  const allowedOrigin = (headers: Headers): string | null => {
    const origin = headers.get('origin');
    return origin !== undefined && origins.has(origin) ? origin : null;
  };
  return {
    preflight(method, headers) {
      const origin = allowedOrigin(headers);
      if (method !== 'OPTIONS' || origin === null) return null;
      if (headers.get('access-control-request-method') === undefined) return null;
      return {
        status: 204,
        headers: [
          ['Access-Control-Allow-Methods', 'GET, POST, PUT, PATCH, DELETE'],
          ['Access-Control-Allow-Headers', allowedHeaders(headers)],
          ['Access-Control-Max-Age', '600'],
        ],
        body: null,
        close: false,
      };
    },
    answered(request, fields) {
      if (origins.size === 0 || request === null) return fields;
      const origin = allowedOrigin(request);
      if (origin === null) return varied(fields);
      return [
        ['Access-Control-Allow-Origin', origin],
        ['Access-Control-Expose-Headers', exposedOf(fields)],
        ...varied(fields),
      ];
    },
  };
}

function exposedOf(fields: Fields): string {
  const own = fields.map(([name]) => name).filter((name) => name.toLowerCase().startsWith(EXPOSED_PREFIX));
  return [...EXPOSED, ...own].join(', ');
}

/** A shared cache must not hand the answer for one origin to another. One field: a program that keeps the fields of an answer by name would lose one of two. */
function varied(fields: Fields): Fields {
  const isVary = ([name]: Fields[number]): boolean => name.toLowerCase() === 'vary';
  const names = ['Origin', ...fields.filter(isVary).map(([, value]) => value)];
  return [['Vary', names.join(', ')], ...fields.filter((field) => !isVary(field))];
}

/** The header names that the browser asks for, without invalid ones. */
function allowedHeaders(headers: Headers): string {
  const asked = (headers.get('access-control-request-headers') ?? '').split(',').map((name) => name.trim());
  const names = asked.filter((name) => /^[A-Za-z0-9-]{1,64}$/.test(name)).slice(0, 32);
  return names.length > 0 ? names.join(', ') : 'Content-Type';
}
