import { invalidMember } from '../../kernel/errors.ts';

const LENGTH_MAX = 255;
/** RFC 9110 section 8.3.1. The quoted values hold no escapes, which no known type needs. */
const form =
  /^[!#$%&'*+.^_`|~0-9A-Za-z-]+\/[!#$%&'*+.^_`|~0-9A-Za-z-]+(?:[ \t]*;[ \t]*[!#$%&'*+.^_`|~0-9A-Za-z-]+=(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+|"[ !#-[\]-~]*"))*$/;

/** The media type of an object that was written without one. */
export const DEFAULT_MEDIA_TYPE = 'application/octet-stream';

/**
 * The media type that a caller gives to an object; `null` where the caller gives none. Throws `validation_failed` naming
 * `pointer` for a text that is no media type: it would stand in a header field of later answers.
 */
export function readMediaType(text: string | null | undefined, pointer: string): string | null {
  const type = text?.trim() ?? '';
  if (type === '') return null;
  if (type.length > LENGTH_MAX || !form.test(type)) {
    throw invalidMember(pointer, `must be a media type of at most ${LENGTH_MAX} characters`);
  }
  return type;
}
