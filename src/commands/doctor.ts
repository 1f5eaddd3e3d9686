/** `doctor`: says of a server what is well, what should not stay, and what keeps it from serving. */
import { clientDocumentsOf } from './client-document.ts'
import { walkClient } from '../doctor/client/walk.ts'
import { examine } from '../doctor/examine.ts'
import type { SettingValues } from '../config.ts'
import type { Judge } from '../doctor/client/document.ts'
import { print, withServer } from './run.ts'

/** Exit status 1 when something fails; what only should not stay leaves it at 0. With `client`, its way is walked instead. */
export async function doctor(
  settings: SettingValues,
  json: boolean | undefined,
  client?: string,
): Promise<void> {
  const findings = client === undefined ? await examine(settings) : await walkClient(settings, client, judge)
  const failed = findings.some(({ status }) => status === 'fail')
  const lines = findings.map(({ status, check, says }) => `${status.padEnd(4)}  ${check}: ${says}`)
  print({ ok: !failed, findings }, lines, json)
  if (failed) process.exitCode = 1
}

/** By the server itself: what its plugins and its scopes make of a document. */
const judge: Judge = async (clientId, document) =>
  withServer(async (_kernel, server) => {
    await clientDocumentsOf(server).judge(clientId, document)
  })
