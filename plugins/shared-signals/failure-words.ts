/** Why a receiver did not take an event, in plain words, and what to do about it. */
import { message, type Words } from '../../src/protocol/message.ts'

/** `text` is what is kept of the attempt. */
export function wordsOfFailure(text: string): Words {
  const status = /^it answered with (\d{3})/.exec(text)?.[1]
  if (status !== undefined) return wordsOfStatus(Number(status))
  const known = REASONS.find(([pattern]) => pattern.test(text))
  return known === undefined ? message('It did not take the event: {reason}', { reason: text }) : known[1]
}

const REASONS: readonly (readonly [RegExp, Words])[] = [
  [/in time|took longer|TIMEOUT/, message('It did not answer within 5 seconds. See that it is reached from here; work that takes longer comes after its answer.')],
  [/ENOTFOUND|EAI_AGAIN/, message('Its name leads nowhere. See that the name is right, and known to the DNS of this machine.')],
  [/CERT|SELF_SIGNED|TLS|SSL|UNABLE_TO/, message('Its certificate is not good here. NODE_EXTRA_CA_CERTS adds an authority of your own.')],
  [/public internet/, message('Its address is not of the public internet. Where that is meant, add its origin to UNSAFE_OUTBOUND_ORIGINS.')],
  [/not https/, message('Its address is not https. Where that is meant, add its origin to UNSAFE_OUTBOUND_ORIGINS.')],
  [/proxy/, message('The proxy of OUTBOUND_PROXY does not let events through to it.')],
  [/bytes/, message('It answered at too great a length: an empty answer is enough.')],
  [/no answer came/, message('Nothing answers at its address. See that it runs, and that it is reached from here.')],
] // prettier-ignore

function wordsOfStatus(status: number): Words {
  if (status === 401 || status === 403)
    return message('It answered with {status}: it does not let this server in. Its app has to name its authorization header once more.', { status: String(status) }) // prettier-ignore
  if (status === 404 || status === 405 || status === 410)
    return message('It answered with {status}: nobody takes events at its address. Its app has to name another one.', { status: String(status) }) // prettier-ignore
  if (status === 429)
    return message('It answered with {status}: it wants fewer events at a time.', { status: String(status) })
  if (status >= 500) return message('It answered with {status}: it has a failure of its own. See its log.', { status: String(status) }) // prettier-ignore
  if (status >= 400) return message('It answered with {status}: it did not take the event. See its log.', { status: String(status) }) // prettier-ignore
  return message('It answered with {status}: no redirect is followed. Its app has to name the address where it leads.', { status: String(status) }) // prettier-ignore
}
