/** What a development start prints: where everything is, who may sign in, and commands that show it working. */
import type { FastifyInstance } from 'fastify'
import { join, resolve } from 'node:path'
import {
  CREDENTIALS_FILE,
  DEMO,
  mayHaveSecrets,
  PASSWORD_FILE,
  SERVICE,
  USERNAME,
} from '../services/demo-content.ts'
import type { Kernel } from '../services/kernel.ts'
import { setupAddress } from '../services/users/first-administrator.ts'
import { readDataFile } from '../services/database/data-dir.ts'
import packageJson from 'latchkey/package.json' with { type: 'json' }
import { kernelOf } from '../http/kernel-of.ts'

/** Of this start, beside what the server knows. */
interface Welcome {
  /** Where the sample web app is, if it runs. */
  readonly sample: string | undefined
  /** The default port, where somebody else has it. */
  readonly taken: number | undefined
}

const OTHERWISE = 'Write it in the commands of the README, which would else reach somebody else.'

/**
 * Lines to print; commands are whole, to be copied. The demo client's secret is named by its file, never printed; the
 * demo user's password is printed, since somebody has to type it.
 */
export async function welcome(server: FastifyInstance, { sample, taken }: Welcome): Promise<string> {
  const { issuer, config, database, keys, firstAdministrator } = kernelOf(server)
  const published = keys.keys()
  const demo = server.hasPlugin(DEMO)
  const invitation = await firstAdministrator.invite()
  const user = demo ? await demoUser(kernelOf(server)) : undefined
  const lines = [
    `latchkey ${packageJson.version}  development mode (this machine only)`,
    ...(taken === undefined ? [] : [`  Port         ${taken} is in use: ${config.PORT}. ${OTHERWISE}`]),
    `  Issuer       ${issuer}`,
    `  Discovery    ${issuer}/.well-known/openid-configuration`,
    `  Database     ${database.where}`,
    ...(config.MTLS_PORT === undefined ? [] : [`  Mutual TLS   at port ${config.MTLS_PORT}`]),
    `  Signing key  ${published.map(({ algorithm, kid }) => `${algorithm} ${kid.slice(0, 8)}`).join(', ')}`,
    ...(user === undefined ? [] : [`  Sign in as   ${user}`]),
    ...(config.SMTP_URL === undefined && server.hasPlugin('latchkey-mail')
      ? [`  Mails        ${issuer}/dev/mail`]
      : []),
    ...(demo ? [] : [`  Demo         none${whyNone(kernelOf(server))}`]),
  ]
  if (invitation === null && server.hasPlugin('latchkey-admin')) lines.push(`  Administer   ${issuer}/admin`)
  if (invitation !== null) {
    lines.push(
      '',
      'Create your administrator (one use, 30 minutes):',
      `  ${setupAddress(issuer, invitation)}`,
    )
  }
  if (config.DATABASE_URL === undefined) {
    lines.push(
      '',
      '  The embedded database is for development and demos: set DATABASE_URL for anything else.',
    )
  }
  if (demo) {
    const works = await hasKeptSecret(kernelOf(server))
    lines.push('', ...tour(issuer, resolve(config.DATA_DIR), sample, works))
  }
  return lines.join('\n')
}

/** Why there is no demo, in words to follow "none". */
function whyNone(kernel: Kernel): string {
  const { SEED_FILE, OIDC_PROFILE } = kernel.config
  if (SEED_FILE !== undefined) return `, since SEED_FILE is set: ${SEED_FILE}`
  return mayHaveSecrets(kernel)
    ? ', since WITHOUT leaves out what it needs'
    : `: its apps have secrets, which OIDC_PROFILE leaves to nobody: ${OIDC_PROFILE.join(',')}`
}

/** What was changed here is not brought back, and so not what the files in DATA_DIR say. */
async function demoUser({ users, config }: Kernel): Promise<string | undefined> {
  if ((await users.find(USERNAME)) === null) return undefined
  const password = (await readDataFile(config.DATA_DIR, PASSWORD_FILE)) ?? ''
  return `${USERNAME} / ${(await users.hasPassword(USERNAME, password)) ? password : '(the password you gave)'}`
}

async function hasKeptSecret({ clients, config }: Kernel): Promise<boolean> {
  const { client_id: id } = SERVICE
  const kept = (await readDataFile(config.DATA_DIR, CREDENTIALS_FILE)) ?? ''
  return clients.hasSecret(id, kept.slice(id.length + 1))
}

/** What there is to try, in order: an explanation and what to open or to run. */
function tour(issuer: string, dataDir: string, sample: string | undefined, works: boolean): string[] {
  const credentials = `"$(cat ${quote(join(dataDir, CREDENTIALS_FILE))})"`
  const token = `curl -s -u ${credentials} -d grant_type=client_credentials ${issuer}/token`
  const accessToken = `$(${token} | node -pe 'JSON.parse(fs.readFileSync(0)).access_token')`
  const stations = [
    ['Get a token, as a service does (client_credentials):', token],
    [
      'Call an API with it (GET /books needs the scope read_books):',
      `curl -s -H "Authorization: Bearer ${accessToken}" ${issuer}/books`,
    ],
  ]
  if (sample !== undefined)
    stations.unshift(['Try a login in your browser, as the user above, in the sample web app:', sample])
  const changed = works
    ? []
    : [
        `  ${SERVICE.client_id} was changed here: put its secret into ${join(dataDir, CREDENTIALS_FILE)} as ${SERVICE.client_id}:SECRET`,
      ]
  return [...changed, ...stations.flatMap(([what, how], at) => [`${at + 1} ${what}`, `  ${how}`]), '']
}

/** One word for a shell. */
function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
