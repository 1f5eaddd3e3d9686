/** nginx, with the configuration that `deploy/nginx.conf` gives operators. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { temporaryDirectory } from './cleanup.ts'
import { createCertificate, deployed } from './deployed.ts'
import { isAbsent, type Proxy, runProxy } from './proxy.ts'

const NGINX = process.env['NGINX'] ?? 'nginx'

export const nginx: Proxy = {
  name: 'nginx',
  absent: isAbsent(NGINX, '-v', 'install them (apt-get install nginx-light openssl), or name nginx by NGINX'),
  async start(port, plainPort, [one, two]) {
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
    return startNginx(site, port)
  },
}

/** With these `server` blocks, of which one listens at `port`. */
export async function startNginx(site: string, port: number): Promise<() => string> {
  const directory = await temporaryDirectory()
  const main = join(directory, 'nginx.conf')
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${join(directory, name)};`,
  )
  await writeFile(join(directory, 'latchkey.conf'), site)
  await writeFile(
    main,
    [
      `daemon off; worker_processes 2; pid ${join(directory, 'pid')}; error_log stderr warn;`,
      'events {}',
      `http { access_log off; ${temporary.join(' ')} include ${join(directory, 'latchkey.conf')}; }`,
    ].join('\n'),
  )
  return runProxy(NGINX, ['-e', 'stderr', '-c', main], port, directory)
}
