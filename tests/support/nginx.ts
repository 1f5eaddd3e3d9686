/**
 * nginx for a test file, with the configuration that `deploy/nginx.conf` gives operators. Where there is none, tests that
 * need it are skipped (`noNginx`), and the run says so.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { atEndOfFile, temporaryDirectory } from './cleanup.ts'
import { createCertificate, deployed, untilListening } from './deployed.ts'

const NGINX = process.env['NGINX'] ?? 'nginx'
const PATH = `${process.env['PATH']}:/usr/sbin:/usr/local/sbin`
const present = [[NGINX, '-v'] as const, ['openssl', 'version'] as const].every(
  ([program, argument]) => spawnSync(program, [argument], { env: { PATH } }).status === 0,
)

if (!present) {
  const how = 'install them (apt-get install nginx-light openssl), or name nginx by NGINX'
  process.stderr.write(`\n!!! SKIPPED: no nginx or no openssl, so nothing is tested behind it: ${how}.\n\n`)
}

/** For `describe.skipIf`. */
export const noNginx = !present

/** Runs it with TLS on `port` of localhost, until the end of the file; returns what reads its log. */
export async function startNginx(
  port: number,
  plainPort: number,
  [one, two]: readonly [number, number],
): Promise<() => Promise<string>> {
  const { certificate, key } = await createCertificate()
  const site = await deployed('nginx.conf', [
    ['listen 443 ssl;', `listen 127.0.0.1:${port} ssl;`],
    ['    listen [::]:443 ssl;\n', ''],
    ['listen 80;', `listen 127.0.0.1:${plainPort};`],
    ['    listen [::]:80;\n', ''],
    ['127.0.0.1:3001', `127.0.0.1:${one}`],
    ['127.0.0.1:3002', `127.0.0.1:${two}`],
    ['server_name login.example.com;', 'server_name localhost;'],
    ['/etc/letsencrypt/live/login.example.com/fullchain.pem', certificate],
    ['/etc/letsencrypt/live/login.example.com/privkey.pem', key],
  ])
  const directory = await temporaryDirectory()
  const [main, log] = [join(directory, 'nginx.conf'), join(directory, 'error.log')]
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${join(directory, name)};`,
  )
  await writeFile(join(directory, 'latchkey.conf'), site)
  await writeFile(
    main,
    [
      `daemon off; worker_processes 2; pid ${join(directory, 'pid')}; error_log ${log} warn;`,
      'events {}',
      `http { access_log off; ${temporary.join(' ')} include ${join(directory, 'latchkey.conf')}; }`,
    ].join('\n'),
  )
  execFileSync(NGINX, ['-t', '-q', '-e', log, '-c', main], { env: { PATH }, stdio: 'pipe' })
  const child = spawn(NGINX, ['-e', log, '-c', main], { env: { PATH }, stdio: 'ignore' })
  const exit = once(child, 'exit')
  atEndOfFile(async () => {
    child.kill('SIGTERM')
    await exit
  })
  await untilListening(port)
  return async () => readFile(log, 'utf8')
}
