/**
 * A program of the page, such as `terraform`: hands its command line to the test, which plays Google Cloud, and prints what
 * the test answers. `forward.ts <program> <arguments>`.
 */
const [, , program, ...args] = process.argv;
const answer = await fetch(process.env['STAND_IN'] ?? '', {
  method: 'POST',
  body: JSON.stringify({ program, args, cwd: process.cwd() }),
});
const { stdout, stderr, code } = (await answer.json()) as { stdout: string; stderr: string; code: number };
process.stdout.write(stdout);
process.stderr.write(stderr);
process.exitCode = code;
