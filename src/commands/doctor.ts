/** `doctor`: says of a server what is well, what should not stay, and what keeps it from serving. */
import { clientDocumentsOf } from './client-document.ts'
import { walkClient } from '../doctor/client/walk.ts'
import { examine } from '../doctor/examine.ts'
import { type Config, ConfigError, parseConfig, type SettingValues } from '../config.ts'
import type { Judge } from '../doctor/client/document.ts'
import { fail, type Finding, ok } from '../doctor/finding.ts'
import type { JudgeSeed } from '../doctor/seed-file.ts'
import { print, withServer } from './run.ts'
import { portOfServer } from './served.ts'
import { handedOver, sendTestMail } from './test-mail.ts'

export interface DoctorOptions {
  readonly json?: boolean
  /** Its way is walked instead. */
  readonly client?: string
  /** An address: a test mail is sent there too. */
  readonly mail?: string
}

/** Exit status 1 when something fails; what only should not stay leaves it at 0. */
export async function doctor(given: SettingValues, { json, client, mail }: DoctorOptions): Promise<void> {
  const settings = { ...given, ...(await portFor(given)) }
  const found =
    client === undefined ? await examine(settings, judgeSeed) : await walkClient(settings, client, judge)
  const findings = mail === undefined ? found : [...found, await tryMail(mail)]
  const failed = findings.some(({ status }) => status === 'fail')
  const lines = findings.map(({ status, check, says }) => `${status.padEnd(4)}  ${check}: ${says}`)
  print({ ok: !failed, findings }, lines, json)
  if (failed) process.exitCode = 1
}

/** As all commands find it; settings that are wrong are told of in their place. */
async function portFor(given: SettingValues): Promise<{ PORT?: number }> {
  let config: Config
  try {
    config = parseConfig(given)
  } catch (error) {
    if (error instanceof ConfigError) return {}
    throw error
  }
  return portOfServer(config)
}

async function tryMail(address: string): Promise<Finding> {
  try {
    await sendTestMail(address)
    return ok('mail', handedOver(address))
  } catch (error) {
    return fail('mail', (error as Error).message)
  }
}

/** By the server itself: what its plugins and its scopes make of a document. */
const judge: Judge = async (clientId, document) =>
  withServer(async (_kernel, server) => {
    await clientDocumentsOf(server).judge(clientId, document)
  })

/** By the server itself, where its tables are there: what may stand in an entry is for its plugins to say. */
const judgeSeed: JudgeSeed = async (path) => {
  let refused: readonly string[] | undefined
  try {
    await withServer(async ({ seeder }) => {
      refused = await seeder.judgeFile(path)
    })
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
  }
  return refused
}
