/** Caddy, with the configuration that `deploy/Caddyfile` gives operators, less the certificate that it would get by itself. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { temporaryDirectory } from './cleanup.ts'
import { createCertificate, deployed } from './deployed.ts'
import { isAbsent, type Proxy, runProxy } from './proxy.ts'

const CADDY = process.env['CADDY'] ?? 'caddy'

export const caddy: Proxy = {
  name: 'Caddy',
  absent: isAbsent(CADDY, 'version', 'install them (apt-get install caddy openssl), or name Caddy by CADDY'),
  async start(port, plainPort, [one, two]) {
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
    return runProxy(CADDY, ['run', '--adapter', 'caddyfile', '--config', file], port, directory)
  },
}
