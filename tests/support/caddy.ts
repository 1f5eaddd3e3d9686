/**
 * Caddy for a test file, with the configuration that `deploy/Caddyfile` gives operators, less the certificate that it would
 * get by itself. Where there is none, tests that need it are skipped (`noCaddy`), and the run says so.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { atEndOfFile, temporaryDirectory } from './cleanup.ts'
import { createCertificate, deployed, untilListening } from './deployed.ts'

const CADDY = process.env['CADDY'] ?? 'caddy'
const present = [CADDY, 'openssl'].every((program) => spawnSync(program, ['version']).status === 0)

if (!present) {
  const how = 'install them (apt-get install caddy openssl), or name Caddy by CADDY'
  process.stderr.write(`\n!!! SKIPPED: no caddy or no openssl, so nothing is tested behind it: ${how}.\n\n`)
}

/** For `describe.skipIf`. */
export const noCaddy = !present

/** Runs it with TLS on `port` of localhost, until the end of the file; returns what reads its log. */
export async function startCaddy(
  port: number,
  plainPort: number,
  [one, two]: readonly [number, number],
): Promise<() => Promise<string>> {
  const { certificate, key } = await createCertificate()
  const site = await deployed('Caddyfile', [
    ['login.example.com {', `https://localhost:${port} {\n\tbind 127.0.0.1\n\ttls ${certificate} ${key}`],
    ['127.0.0.1:3001', `127.0.0.1:${one}`],
    ['127.0.0.1:3002', `127.0.0.1:${two}`],
  ])
  const directory = await temporaryDirectory()
  const file = join(directory, 'Caddyfile')
  const options = `{\n\tadmin off\n\tauto_https disable_redirects\n\thttp_port ${plainPort}\n\thttps_port ${port}\n}\n`
  await writeFile(file, options + site)
  const child = spawn(CADDY, ['run', '--adapter', 'caddyfile', '--config', file], {
    env: { PATH: process.env['PATH'], HOME: directory },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const lines: string[] = []
  child.stderr.setEncoding('utf8').on('data', (text: string) => lines.push(text))
  const exit = once(child, 'exit')
  atEndOfFile(async () => {
    child.kill('SIGTERM')
    await exit
  })
  await untilListening(port)
  return async () => lines.join('')
}
