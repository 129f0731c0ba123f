import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import description from '../../package.json' with { type: 'json' };
import { commit, halfSentCommit, Program, type ProgramOptions, refusesConnections, root } from './program.ts';

const folder = mkdtempSync(join(tmpdir(), 'svc-embedded-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let folders = 0;
const freshFolder = () => join(folder, `data-${folders++}`);

const entry = join(root, 'functions/embedded.ts');
const ready = /^svc \S+ is ready at (http:\/\/127\.0\.0\.1:(\d+)) \(Development\)$/m;

function start(env: ProgramOptions['env'] = {}, args: readonly string[] = []): Program {
  // In a folder of its own: no settings file, and nothing of the project's is written.
  return new Program([entry, ...args], {
    cwd: folder,
    env: { PORT: '0', SVC_DATA_DIR: freshFolder(), ...env },
  });
}

async function started(env: ProgramOptions['env'] = {}) {
  const program = start(env);
  const [, url = '', port = ''] = await program.says(ready);
  return { program, url, port: Number(port) };
}

describe('the embedded server', () => {
  test('says one line when it is ready, warns that it is open, and answers', async () => {
    const { program, url } = await started();
    await using _ = program;
    expect(program.stdout.trim().split('\n')).toHaveLength(1);
    await program.says(/^WARNING: Development mode\. The service is open/m);
    expect(await (await fetch(`${url}/health`)).json()).toMatchObject({ status: 'ok', service: 'svc' });
    expect(await (await fetch(`${url}/readiness`)).json()).toMatchObject({ ready: true });
    expect(await (await fetch(url)).text()).toMatch(/^svc /);
  });

  test('says where its data is, where the settings have a relative folder', async () => {
    const { program } = await started({ SVC_DATA_DIR: 'relative' });
    await using _ = program;
    const [, place] = await program.says(/^data: (.*)$/m);
    expect(place).toBe(join(realpathSync(folder), 'relative'));
  });

  test('warns once where other users can read its data folder', async () => {
    const open = freshFolder();
    mkdirSync(open);
    chmodSync(open, 0o755);
    const { program } = await started({ SVC_DATA_DIR: open });
    {
      await using _ = program;
      await program.says(/^WARNING: Other users of this machine can read the data folder .*chmod 700 /m);
    }
    const own = await started();
    await using _ = own.program;
    await own.program.says(/^WARNING: Development mode/m);
    expect(own.program.stderr).not.toContain('data folder');
  });

  test('keeps committed writes over a restart', async () => {
    const env = { SVC_DATA_DIR: freshFolder() };
    const first = await started(env);
    {
      await using _ = first.program;
      const answer = await commit(first.url, 't', 'once');
      expect(answer.status, await answer.clone().text()).toBe(200);
      expect(await answer.json()).toMatchObject({ replayed: false });
      first.program.signal('SIGTERM');
      expect(await first.program.exit).toEqual({ code: 0, signal: null });
    }
    const second = await started(env);
    await using _ = second.program;
    expect(await (await commit(second.url, 't', 'once')).json()).toMatchObject({ replayed: true });
  });

  test.each(['SIGTERM', 'SIGINT'] as const)(
    '%s lets a request under way finish, then ends with 0',
    async (signal) => {
      // The end of the request is a signal of this test; a busy machine may take long to get there.
      const { program, port } = await started({ Server__DrainSeconds: '600' });
      await using _ = program;
      const held = await halfSentCommit(port, 't');
      program.signal(signal);
      await refusesConnections(port);
      expect(await held.finish()).toContain('HTTP/1.1 200 OK');
      expect(await program.exit).toEqual({ code: 0, signal: null });
    },
  );

  test('a second signal ends it at once', async () => {
    const { program, port } = await started();
    await using _ = program;
    await halfSentCommit(port, 't');
    program.signal('SIGTERM');
    await refusesConnections(port);
    program.signal('SIGTERM');
    expect(await program.exit).toEqual({ code: 143, signal: null });
  });

  test('one Ctrl-C that arrives twice lets a request under way finish, and a line names the request that the server waits for', async () => {
    const { program, port } = await started({ Server__DrainSeconds: '600' });
    await using _ = program;
    const held = await halfSentCommit(port, 't');
    // As a terminal and npm do: the group of processes gets the signal, and npm passes its own on.
    program.signal('SIGINT');
    program.signal('SIGINT');
    await program.says(
      /^svc \S+ stops: it waits up to 600 s for requests under way; no run is under way\. A second Ctrl-C ends it at once\.$/m,
    );
    await refusesConnections(port);
    expect(await held.finish()).toContain('HTTP/1.1 200 OK');
    expect(await program.exit).toEqual({ code: 0, signal: null });
    expect(program.stderr.match(/ stops: /g)).toHaveLength(1);
  });

  test('a line says for how many runs the server waits', async () => {
    const plugin = join(folder, 'plugin.mjs');
    writeFileSync(
      plugin,
      `const run = async ({ signal }) => {
        const ended = new Promise((resolve) => signal.addEventListener('abort', resolve));
        console.log('the run is under way');
        await ended;
      };
      export default { pluginId: 'held', name: 'Held', version: '1.0.0', handlers: [{ handlerId: 'held', run }] };`,
    );
    const { program, url } = await started({
      ExecutionRuntime__Plugins__0: plugin,
      Server__DrainSeconds: '1',
    });
    await using _ = program;
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ handlerId: 'held', payload: {}, idempotencyKey: 'held' });
    const answer = await fetch(`${url}/execution/runs`, { method: 'POST', headers, body });
    expect(answer.ok, await answer.text()).toBe(true);
    await program.says(/^the run is under way$/m);
    program.signal('SIGTERM');
    await program.says(
      / stops: it waits up to 1 s for requests under way, then up to 1 s for a run under way\. /,
    );
    expect(await program.exit).toEqual({ code: 0, signal: null });
  });

  test('npm start passes signals on and leaves nothing behind', async () => {
    const env = { PORT: '0', SVC_DATA_DIR: freshFolder(), npm_config_update_notifier: 'false' };
    await using npm = new Program(['start'], { command: 'npm', env });
    const [, , port = ''] = await npm.says(ready);
    npm.signal('SIGTERM');
    expect((await npm.exit).code).toBe(0);
    await refusesConnections(Number(port));
  });
});

describe('the start fails with a message for', () => {
  test('a port in use', async () => {
    const { program, port } = await started();
    await using _ = program;
    await using second = start({ PORT: String(port) });
    expect(await second.exit).toEqual({ code: 1, signal: null });
    expect(second.stderr.trim()).toBe(
      `Port ${port} is in use. Choose another with PORT or --port; 0 takes a free one.`,
    );
  });

  test('a folder that cannot be used', async () => {
    await using program = start({ SVC_DATA_DIR: '/dev/null/data' });
    expect(await program.exit).toEqual({ code: 1, signal: null });
    expect(program.stderr).toMatch(/^The database \/dev\/null\/data\/\S+ cannot be opened: .*\n$/);
  });

  test('every fault of the configuration, all in one message without secrets', async () => {
    const env = { SVC_API_KEY: 'hush hush', CanonicalStore__Provider: 'oracle' };
    await using program = start(env, ['--Server:Prot=1']);
    expect(await program.exit).toEqual({ code: 1, signal: null });
    expect(program.stderr).toContain('The configuration has 3 faults');
    for (const key of ['Server:ApiKey', 'CanonicalStore:Provider', 'Server:Prot']) {
      expect(program.stderr).toContain(`  ${key} (`);
    }
    expect(program.stderr).not.toContain('hush');
    expect(program.stdout).toBe('');
  });

  test('Production without a policy', async () => {
    await using program = start({ SVC_ENVIRONMENT: 'Production' });
    expect((await program.exit).code).toBe(1);
    expect(program.stderr).toContain('does not start without a policy');
  });

  test('an open server that other machines could reach', async () => {
    await using program = start({ Server__Host: '0.0.0.0' });
    expect((await program.exit).code).toBe(1);
    expect(program.stderr).toContain('is reachable from other machines, and Development is open');
  });
});

test('--help lists the settings, --version the release', async () => {
  await using help = start({}, ['--help']);
  expect((await help.exit).code).toBe(0);
  expect(help.stdout).toContain('Server:CanonicalRateLimit:PermitLimit');
  await using version = start({}, ['--version']);
  expect((await version.exit).code).toBe(0);
  expect(version.stdout.trim()).toBe(description.version);
});
