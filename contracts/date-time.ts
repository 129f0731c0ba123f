const SHAPE = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.\d{1,9})?(?:[Zz]|[+-](\d\d):(\d\d))$/;

/**
 * Whether the text is an RFC 3339 date-time of a day that exists, with `Z` or an offset and at most nine digits of
 * fraction. Leap seconds (`:60`) are refused although RFC 3339 allows them: no clock here can hold one.
 */
export function isDateTime(text: string): boolean {
  const match = SHAPE.exec(text);
  if (match === null) return false;
  const [year, month, day, hour, minute, second, offsetHour, offsetMinute] = match
    .slice(1)
    .map((part) => Number(part ?? 0));
  return (
    isDate(year ?? 0, month ?? 0, day ?? 0) &&
    (hour ?? 24) < 24 &&
    (minute ?? 60) < 60 &&
    (second ?? 60) < 60 &&
    (offsetHour ?? 24) < 24 &&
    (offsetMinute ?? 60) < 60
  );
}

function isDate(year: number, month: number, day: number): boolean {
  if (month < 1 || month > 12 || day < 1) return false;
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const days = month === 2 ? (leap ? 29 : 28) : [4, 6, 9, 11].includes(month) ? 30 : 31;
  return day <= days;
}
