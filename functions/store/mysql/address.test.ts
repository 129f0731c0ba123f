import { describe, expect, test } from 'vitest';
import { addressOf } from './address.ts';

describe('the address of a MySQL database', () => {
  test('is read from a URL, whose parts may be escaped', () => {
    expect(addressOf('mysql://us%40er:p%3Aw%2F%25@db.example:3307/da%20ta')).toEqual({
      host: 'db.example',
      port: 3307,
      user: 'us@er',
      password: 'p:w/%',
      database: 'da ta',
    });
    expect(addressOf('mariadb://u@[::1]/d')).toMatchObject({ host: '::1', port: 3306, password: '' });
    const socket = addressOf('mysql://u:p@localhost/d?socketPath=/run/mysqld/mysqld.sock');
    expect(socket).toEqual({
      socketPath: '/run/mysqld/mysqld.sock',
      user: 'u',
      password: 'p',
      database: 'd',
    });
    expect(addressOf('mysql:///d?socketPath=/s')).toMatchObject({ socketPath: '/s', database: 'd' });
  });

  test('with TLS verifies the certificate and its name by default', () => {
    const tls = (parameters: string) => addressOf(`mysql://u:p@h/d?${parameters}`).ssl;
    const full = { minVersion: 'TLSv1.2', rejectUnauthorized: true, verifyIdentity: true };
    for (const parameters of ['ssl=true', 'sslmode=require', 'sslmode=verify-full']) {
      expect(tls(parameters)).toEqual(full);
    }
    expect(tls('sslmode=verify-ca')).toEqual({ ...full, verifyIdentity: false });
    const open = { ...full, rejectUnauthorized: false, verifyIdentity: false };
    expect(tls('sslmode=no-verify')).toEqual(open);
    for (const parameters of ['', 'ssl=false', 'sslmode=disable']) expect(tls(parameters)).toBeUndefined();
  });

  test('is refused where it is none, without a word of it', () => {
    const secret = 'hunter2';
    for (const text of [
      secret,
      `postgres://u:${secret}@h/d`,
      `mysql://u:${secret}@h`,
      `mysql://u:${secret}@h/`,
      `mysql://u:${secret}@h/d/e`,
      `mysql:///${secret}`,
      `mysql://u:${secret}%@h/d`,
      `mysql://u:${secret}@h/d?ssl=${secret}`,
      `mysql://u:p@h/d?${secret}=1`,
      `mysql://u:p@h/d?sslmode=constructor`,
      `mysql://u:p@h/d?ssl=true&sslca=/nowhere/${secret}`,
      `mysql://u:p@h/d?sslca=/etc/${secret}`,
    ]) {
      const refused = () => addressOf(text);
      expect(refused, text).toThrow(/^MySQL: the connection string /);
      expect(refused, text).not.toThrow(secret);
    }
  });
});
