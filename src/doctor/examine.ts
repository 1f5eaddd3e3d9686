/**
 * The examination, in its order: what a later check needs, an earlier one has found. It reads, and changes nothing: no
 * migration runs, no key or file is made.
 */
import { ConfigError, parseConfig, type Config, type SettingValues } from '../config.ts'
import { risksOf } from '../words/risks.ts'
import { readSecretKey } from '../services/database/data-dir.ts'
import { readIdentity } from '../services/tls-identity.ts'
import { describeStrays } from '../settings/setting-names.ts'
import { examineBrand } from './brand.ts'
import { examineDatabase } from './database.ts'
import { openEmbedded } from './embedded.ts'
import { fail, ok, warn, type Finding } from './finding.ts'
import { examineIssuer } from './issuer.ts'
import { examineDirectory } from './ldap.ts'
import { examineMail } from './mail.ts'
import { examinePlugins } from './plugins.ts'
import { examineProcess } from './process.ts'
import { examineSeedFile, type JudgeSeed } from './seed-file.ts'

/**
 * Everything that can be said of a server with these settings. Never throws for what is wrong with them. `judgeSeed` is asked
 * where nothing else keeps a server from being built.
 */
export async function examine(settings: SettingValues, judgeSeed: JudgeSeed): Promise<Finding[]> {
  const config = parse(settings)
  const isRefused = config instanceof ConfigError
  const plugins = await examinePlugins(isRefused ? [] : config.PLUGINS, settings)
  const strays = describeStrays(settings, plugins.names).map((sentence) => warn('settings', sentence))
  const findings = [...examineProcess(), ...strays]
  if (isRefused) return [...findings, fail('settings', config.message)]
  const refusal = await identityRefusal(config)
  findings.push(refusal ?? ok('settings', describe(config)), ...plugins.findings)
  for (const risk of await risksOf(config)) findings.push(warn('choices', risk))
  const stored = [...(await examineBrand(config.BRAND_DIRECTORY)), ...(await examineStored(config))]
  const canBuild = [...findings, ...stored].every(({ status }) => status !== 'fail')
  const judge: JudgeSeed = async (path) => (canBuild ? judgeSeed(path) : undefined)
  findings.push(...(await examineSeedFile(config.SEED_FILE, judge)), ...stored)
  findings.push(await examineMail(config), ...(await examineDirectory(config)), await examineIssuer(config))
  return findings
}

function parse(settings: SettingValues): Config | ConfigError {
  try {
    return parseConfig(settings)
  } catch (error) {
    if (error instanceof ConfigError) return error
    throw error
  }
}

/** What a start reads before all else. */
async function identityRefusal(config: Config): Promise<Finding | undefined> {
  if (config.MTLS_PORT === undefined) return undefined
  try {
    await readIdentity(config)
    return undefined
  } catch (error) {
    if (error instanceof ConfigError) return fail('settings', error.message)
    throw error
  }
}

function describe({ production, issuer }: Config): string {
  return production
    ? `A production start as ${issuer}, with all that it requires.`
    : `A development start as ${issuer}.`
}

async function examineStored(config: Config): Promise<Finding[]> {
  const secretKey = config.SECRET_KEY ?? (await generatedKey(config.DATA_DIR))
  if (secretKey instanceof ConfigError) return [fail('SECRET_KEY', secretKey.message)]
  if (config.DATABASE_URL !== undefined) return examineDatabase(config, config.DATABASE_URL, secretKey)
  const { postgres, findings } = await openEmbedded(config.DATA_DIR)
  if (postgres === undefined) return findings
  try {
    return [...findings, ...(await examineDatabase(config, postgres.url, secretKey))]
  } finally {
    await postgres.stop()
  }
}

async function generatedKey(dataDir: string): Promise<string[] | ConfigError> {
  try {
    const key = await readSecretKey(dataDir)
    return key === undefined ? [] : [key]
  } catch (error) {
    if (error instanceof ConfigError) return error
    throw error
  }
}
