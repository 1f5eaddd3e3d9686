/** What the command line says of what the registries refuse: a sentence for each member, and where to look for one that is not there. */
import type { AboutMember, OAuthError } from '../protocol/errors.ts'
import { inEnglish } from '../protocol/message.ts'

/** By the member that identifies one: the command that lists them. */
const LISTED: Readonly<Record<string, string>> = {
  client_id: 'client',
  username: 'user',
  name: 'scope',
  resource: 'resource',
  issuer: 'trusted-issuer',
  id: 'upstream',
}

export function sentencesOf({ message, reason, about, also = [] }: OAuthError & { reason?: string }): string {
  // What it says of others is for their clients, its reason for who runs the server.
  const first = `${reason ?? message}${wayTo(about)}.`
  const others = also.map((one) => `${one.member} ${inEnglish(one.reason)}${wayTo(one)}.`)
  return [first, ...others].join('\n')
}

function wayTo(about: AboutMember | undefined): string {
  const list = about !== undefined && Object.hasOwn(LISTED, about.member) ? LISTED[about.member] : undefined
  return list !== undefined && inEnglish(about!.reason) === 'is not registered'
    ? `: \`latchkey ${list} list\` says what is`
    : ''
}
