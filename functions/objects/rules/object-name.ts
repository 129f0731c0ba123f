import { limits } from '../../../contracts/generated/limits.ts';
import { invalidMember } from '../../kernel/errors.ts';
import { checkBytes, checkText } from '../../kernel/identifiers.ts';

const containerForm = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
const CONTAINER_LENGTH_MIN = 3;
const CONTAINER_LENGTH_MAX = 63;

/** The place of an object in its space. */
export interface ObjectPlace {
  readonly container: string;
  readonly key: string;
}

/**
 * The name of a container, as given: 3 to 63 lower-case letters, digits and single hyphens between them. Throws
 * `validation_failed` naming `pointer`.
 */
export function checkContainer(name: string, pointer: string): string {
  const fits = name.length >= CONTAINER_LENGTH_MIN && name.length <= CONTAINER_LENGTH_MAX;
  if (fits && containerForm.test(name)) return name;
  throw invalidMember(
    pointer,
    `must have ${CONTAINER_LENGTH_MIN} to ${CONTAINER_LENGTH_MAX} lower-case letters, digits and single hyphens, and begin and end with a letter or digit`,
  );
}

/**
 * The key of an object with `/` between its segments; `\` counts as `/`. The key is relative, and no segment is empty, `.` or
 * `..`. At most 700 bytes of UTF-8, because the listing of MySQL keys 768. Throws `validation_failed` or `limit_exceeded` naming `pointer`.
 */
export function readObjectKey(text: string, pointer: string): string {
  const key = text.replaceAll('\\', '/');
  if (key.split('/').some((segment) => segment === '' || segment === '.' || segment === '..')) {
    throw invalidMember(pointer, 'must be a relative path without empty segments, . and ..');
  }
  checkText(key, pointer);
  checkBytes(key, limits.objectKeyBytesMax, pointer);
  return key;
}

/** Both names of an object, from a path or a manifest below `pointer`. */
export function readPlace({ container, key }: ObjectPlace, pointer = ''): ObjectPlace {
  return {
    container: checkContainer(container, `${pointer}/container`),
    key: readObjectKey(key, `${pointer}/key`),
  };
}

/** The prefix of the listed keys; it need not end at a segment. */
export function readPrefix(text: string, pointer: string): string {
  const prefix = text.replaceAll('\\', '/');
  checkText(prefix, pointer);
  checkBytes(prefix, limits.objectKeyBytesMax, pointer);
  return prefix;
}
