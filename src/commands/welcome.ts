/** What a development start prints: where everything is, and two commands that show it working. */
import type { FastifyInstance } from 'fastify'
import { join, resolve } from 'node:path'
import { CREDENTIALS_FILE } from '../../plugins/demo.ts'
import packageJson from 'latchkey/package.json' with { type: 'json' }

/** Lines to print; commands are whole, to be copied. The demo's secret is named by its file, never printed. */
export function welcome(server: FastifyInstance): string {
  const { issuer, config, database, keys } = server.oauth
  const published = keys.keys()
  const lines = [
    `latchkey ${packageJson.version}  development mode (this machine only)`,
    `  Issuer       ${issuer}`,
    `  Discovery    ${issuer}/.well-known/openid-configuration`,
    `  Database     ${database.where}`,
    `  Signing key  ${published.map(({ algorithm, kid }) => `${algorithm} ${kid.slice(0, 8)}`).join(', ')}`,
  ]
  if (config.DATABASE_URL === undefined) {
    lines.push(
      '',
      '  The embedded database is for development and demos: set DATABASE_URL for anything else.',
    )
  }
  if (config.SEED_FILE === undefined) lines.push('', ...commands(issuer, resolve(config.DATA_DIR)))
  return lines.join('\n')
}

function commands(issuer: string, dataDir: string): string[] {
  const credentials = `"$(cat ${quote(join(dataDir, CREDENTIALS_FILE))})"`
  const token = `curl -s -u ${credentials} -d grant_type=client_credentials ${issuer}/token`
  const accessToken = `$(${token} | node -pe 'JSON.parse(fs.readFileSync(0)).access_token')`
  return [
    '1 Get a token, as a service does (client_credentials):',
    `  ${token}`,
    '2 Call an API with it (GET /books needs the scope read_books):',
    `  curl -s -H "Authorization: Bearer ${accessToken}" ${issuer}/books`,
    '',
  ]
}

/** One word for a shell. */
function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
