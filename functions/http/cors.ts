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
  /** The fields to add to an answer. */
  headersFor(headers: Headers): readonly (readonly [string, string])[];
}

const exposed =
  'X-Correlation-ID, Retry-After, RateLimit, RateLimit-Policy, Location, Idempotency-Replayed, Link, Svc-Truncated, ETag, Content-Range, Accept-Ranges, WWW-Authenticate';

export function createCors(settings: CorsSettings): Cors {
  const origins = new Set(settings.allowedOrigins);
  const allowedOrigin = (headers: Headers): string | null => {
    const origin = headers.get('origin');
    return origin !== undefined && origins.has(origin) ? origin : null;
  };
  // A shared cache must not hand the answer for one origin to another.
  const vary = ['Vary', 'Origin'] as const;
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
    headersFor(headers) {
      if (origins.size === 0) return [];
      const origin = allowedOrigin(headers);
      if (origin === null) return [vary];
      return [['Access-Control-Allow-Origin', origin], ['Access-Control-Expose-Headers', exposed], vary];
    },
  };
}

/** The header names that the browser asks for, without invalid ones. */
function allowedHeaders(headers: Headers): string {
  const asked = (headers.get('access-control-request-headers') ?? '').split(',').map((name) => name.trim());
  const names = asked.filter((name) => /^[A-Za-z0-9-]{1,64}$/.test(name)).slice(0, 32);
  return names.length > 0 ? names.join(', ') : 'Content-Type';
}
