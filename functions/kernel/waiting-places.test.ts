import { expect, test } from 'vitest';
import { WaitingPlaces } from './waiting-places.ts';

const own = (name: string, share = 2) => ({ name, share });

test('an owner holds its share at most, and leaves the other places to others', () => {
  const places = new WaitingPlaces(4);
  const held = [places.take([own('a')]), places.take([own('a')])];
  expect(held).not.toContain(null);
  expect(places.take([own('a')])).toBeNull();
  expect(places.take([own('b')])).not.toBeNull();
  held[0]?.leave();
  // A second call frees no second place.
  held[0]?.leave();
  expect(places.take([own('a')])).not.toBeNull();
  expect(places.take([own('a')])).toBeNull();
});

test('all owners together hold no more than there are', () => {
  const places = new WaitingPlaces(2);
  const first = places.take([own('a')]);
  expect(places.take([own('b')])).not.toBeNull();
  expect(places.take([own('c')])).toBeNull();
  first?.leave();
  expect(places.take([own('c')])).not.toBeNull();
});

test('a call of two owners takes from the share of both, and where one has none it takes from neither', () => {
  const places = new WaitingPlaces(100);
  const tenant = own('tenant', 1);
  expect(places.take([own('caller'), tenant])).not.toBeNull();
  expect(places.take([own('caller'), tenant])).toBeNull();
  expect(places.take([own('caller'), own('other tenant', 1)])).not.toBeNull();
  expect(places.take([own('caller'), own('third tenant', 1)])).toBeNull();
});

test('a call that one of several owners may pay for takes from the one with the most room', () => {
  const places = new WaitingPlaces(100);
  const either = [own('a'), own('b')];
  for (let n = 0; n < 3; n += 1) expect(places.take([own('caller', 50)], either)).not.toBeNull();
  const last = places.take([own('caller', 50)], either);
  expect(last).not.toBeNull();
  expect(places.take([own('caller', 50)], either)).toBeNull();
  expect(places.take([own('caller', 50)], [...either, own('c')])).not.toBeNull();
  last?.leave();
  expect(places.take([own('caller', 50)], either)).not.toBeNull();
});
