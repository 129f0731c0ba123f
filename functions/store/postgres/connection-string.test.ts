import { Client } from 'pg';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { driverUrl } from './connection-string.ts';

const parametersOf = (text: string) => Object.fromEntries(new URL(driverUrl(text)).searchParams);
const modeOf = (text: string) => new URL(driverUrl(text)).searchParams.get('sslmode');

describe('the connection string', () => {
  test('is a URL, and is passed on whole', () => {
    const url = new URL(driverUrl('postgres://user:p%40ss@localhost:6000/data?application_name=a'));
    expect([url.username, url.password, url.host, url.pathname]).toEqual([
      'user',
      'p%40ss',
      'localhost:6000',
      '/data',
    ]);
    expect(url.searchParams.get('port')).toBe('6000');
    expect(url.searchParams.get('application_name')).toBe('a');
  });

  test('or words, with quotes and backslashes as libpq has them', () => {
    const text = String.raw` host=/run/pg  port = 6000 dbname='my data' user=a\ b password='it\'s #1 & %2F'`;
    const url = new URL(driverUrl(text));
    expect(decodeURIComponent(url.pathname)).toBe('/my data');
    expect(parametersOf(text)).toMatchObject({
      host: '/run/pg',
      port: '6000',
      user: 'a b',
      password: "it's #1 & %2F",
    });
  });

  test('asks for a verified database on another machine, also when the driver would not', () => {
    for (const text of [
      'postgres://db.example/x',
      'host=db.example dbname=x',
      'postgres:///x?host=10.0.0.8',
    ]) {
      expect(modeOf(text)).toBe('verify-full');
    }
    for (const mode of ['prefer', 'require', 'verify-ca', 'verify-full']) {
      expect(modeOf(`postgres://db.example/x?sslmode=${mode}`)).toBe('verify-full');
    }
  });

  test('asks for no verification when the string disables it, on a socket and on this machine', () => {
    for (const mode of ['disable', 'no-verify']) {
      expect(modeOf(`host=db.example sslmode=${mode}`)).toBe(mode);
    }
    const local = ['/run/pg', 'localhost', '127.0.0.1', '127.1.2.3', '::1'];
    for (const host of local) expect(modeOf(`host=${host}`)).toBe('disable');
    for (const host of ['localhost', '127.0.0.1', '[::1]', '%2Frun%2Fpg']) {
      expect(modeOf(`postgresql://${host}/x`)).toBe('disable');
    }
    expect(modeOf('postgresql:///x?host=%2Frun%2Fpg')).toBe('disable');
    for (const host of ['127.0.0.1.example', 'localhost.example', '127.0.0.1234']) {
      expect(modeOf(`host=${host}`)).toBe('verify-full');
    }
  });

  test('never connects to another machine in the clear because of an omitted part', () => {
    expect(modeOf('postgres://db.example/x?uselibpqcompat=true')).toBe('verify-full');
    expect(modeOf('postgres://db.example/x?uselibpqcompat=true&sslmode=require')).toBe('require');
    expect(() => driverUrl('postgres://db.example/x?uselibpqcompat=true&sslmode=')).toThrow('sslmode');
    for (const text of ['postgres:///x', 'postgres:///x?host=', 'dbname=x', "host='' dbname=x"]) {
      expect(() => driverUrl(text)).toThrow('neither a host nor');
    }
    const twice = 'postgres:///x?host=%2Frun%2Fpg&host=db.example';
    expect(() => driverUrl(twice)).toThrow('twice');
  });

  test('has the driver’s own word for TLS read like sslmode', () => {
    const meanings = { true: 'verify-full', 1: 'verify-full', 'no-verify': 'no-verify', false: 'disable' };
    for (const [ssl, mode] of Object.entries(meanings)) {
      expect(modeOf(`postgres://db.example/x?ssl=${ssl}`)).toBe(mode);
    }
    expect(() => driverUrl('postgres://db.example/x?ssl=')).toThrow('ssl is none of');
    for (const asking of ['sslrootcert=/ca.pem', 'sslnegotiation=direct']) {
      expect(modeOf(`postgres://localhost/x?${asking}`)).toBe('verify-full');
    }
  });

  describe('alone decides the address of the database', () => {
    afterEach(() => {
      vi.unstubAllEnvs();
    });

    test.each(['postgres://localhost', 'postgresql:///?host=%2Frun%2Fpg', 'host=localhost'])('%s', (text) => {
      const before = new Client(driverUrl(text));
      const settings = {
        PGHOST: 'db.example',
        PGPORT: '6000',
        PGUSER: 'mallory',
        PGDATABASE: 'other',
        PGSSLMODE: 'no-verify',
        PGSSLNEGOTIATION: 'direct',
      };
      for (const [name, value] of Object.entries(settings)) vi.stubEnv(name, value);
      const client = new Client(driverUrl(text));
      const facts = ({ host, port, user, database, ssl }: Client) => [host, port, user, database, ssl];
      expect(facts(client)).toEqual(facts(before));
      expect(facts(client)[4]).toBe(false);
    });
  });

  test('is refused without being quoted', () => {
    const bad = [
      'hunter2',
      'postgres://user:hunter2@[db/x',
      "password='hunter2",
      'password=hunter2 anything',
      'host=a sslmode=hunter2',
      'host=a password=one hunter=two',
      'postgres://a/x?ssl=hunter2',
      '',
    ];
    for (const text of bad) {
      let message = '';
      try {
        driverUrl(text);
      } catch (error) {
        message = String(error);
      }
      expect(message).toContain('is not understood');
      expect(message).not.toContain('hunter');
    }
  });
});
