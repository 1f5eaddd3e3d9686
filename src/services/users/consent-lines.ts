/** What a request asks people for beside scopes and resources, by its parameters and by where it leads: line by line, each known by its key. */
import type { ApprovalRequest, ConsentLine, Parameter } from '../../doors/approval.ts'
import { message, type Words } from '../../protocol/message.ts'
import { placeOf } from '../../protocol/redirect-uri.ts'
import { createLanguage } from '../languages/language.ts'

/** `key` tells it from those of all parameters. */
export type AskedLine = Required<ConsentLine>

/** Those that no scope of the request gives already. Throws where a parameter does not say them as `{ key, text }`. */
export function linesOf(
  parameters: readonly Parameter[],
  request: Pick<ApprovalRequest, 'parameters' | 'scopes'>,
): AskedLine[] {
  const asked: AskedLine[] = []
  for (const { name, consent } of parameters) {
    const value = request.parameters[name]
    if (value === undefined || consent === undefined) continue
    for (const { key, text, scopes = [], once = false } of consent(value)) {
      // Without one, whatever came later would count as allowed.
      if (typeof key !== 'string') throw new Error(`the parameter ${name} has a consent line without a key`)
      if (!scopes.some((scope) => request.scopes.has(scope)))
        asked.push({ key: `${name}:${key}`, text, scopes, once })
    }
  }
  return asked
}

/** Of no parameter's name. */
const LEADS = 'redirect_uri:'
/** Empty for nowhere: a device (RFC 8628) and CIBA send nobody back. */
const leadsTo = (place: string): Words =>
  place === ''
    ? message('Be used without sending you anywhere, as on a device')
    : message('Send you to {place}', { place })

/**
 * Where an app takes people of which nobody here has checked whose it is: that is all by which they know it (docs/adr/0047), so it is
 * allowed there and at no other host of its own. None for one that an administrator has registered.
 */
export function placeLineOf({
  client,
  redirectUri,
}: Pick<ApprovalRequest, 'client' | 'redirectUri'>): AskedLine | undefined {
  if (client.registrar === undefined) return undefined
  const place = redirectUri === undefined ? '' : placeOf(redirectUri)
  return { key: `${LEADS}${place}`, text: leadsTo(place), scopes: [], once: false }
}

/** What is remembered of a line: a text that is the same whoever reads the page, and that any version shows as it is. */
export function rememberedText({ text }: Pick<ConsentLine, 'text'>): string {
  return english.say(text)
}

/** What a line that is remembered says; its text where its parameter has no words for it, or is gone. */
export function wordsOfLine(parameters: readonly Parameter[], key: string, text: string): Words {
  if (key.startsWith(LEADS)) return leadsTo(key.slice(LEADS.length))
  const owner = parameters.find(({ name }) => key.startsWith(`${name}:`))
  return owner?.wordsOf?.(key.slice(owner.name.length + 1)) ?? text
}

const english = createLanguage({ tag: 'en', region: 'en-GB', zone: null, find: () => undefined })
