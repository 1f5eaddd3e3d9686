/**
 * Rich authorization requests (RFC 9396) of a bank, for Latchkey: an app asks for one payment or for a look at some accounts,
 * people read what that is, and its tokens say it. A token request may ask for less of it.
 */
import { OAuthError, Type, type OAuth } from 'latchkey'

const NAME = 'authorization_details'

interface Detail {
  readonly type: string
  readonly [member: string]: unknown
}
interface Kind {
  /** Of its members beside `type`, each the words that it must match, or a list of them. */
  readonly members: Readonly<Record<string, RegExp>>
  /** For people. */
  describe(detail: Detail): string
  /** Whether it is allowed for one request alone. */
  readonly once?: boolean
}

const KINDS: ReadonlyMap<string, Kind> = new Map<string, Kind>([
  [
    'payment',
    {
      members: { amount: /^\d{1,9}\.\d\d$/, currency: /^[A-Z]{3}$/, creditor: /^[\w .-]{1,70}$/ },
      describe: ({ amount, currency, creditor }) => `Pay ${amount} ${currency} to ${creditor}`,
      once: true,
    },
  ],
  [
    'accounts',
    {
      members: { actions: /^(?:balances|transactions)$/, accounts: /^[A-Z]{2}\d{4,30}$/ },
      describe: ({ actions, accounts }) => `See ${listed(actions)} of ${listed(accounts)}`,
    },
  ],
])

export default async function richRequests({ oauth }: { oauth: OAuth }): Promise<void> {
  oauth.extendClientMetadata(
    Type.Object({ authorization_details_types: Type.Optional(Type.Array(Type.String())) }),
  )
  oauth.extend('metadata', async () => ({ authorization_details_types_supported: [...KINDS.keys()] }))

  oauth.add('parameter', {
    name: NAME,
    schema: Type.String({ maxLength: 4096 }),
    kept: true,
    parse(raw, { metadata }) {
      if (raw === undefined) return undefined
      const allowed = metadata['authorization_details_types']
      const details = read(String(raw))
      if (!details.every(({ type }) => Array.isArray(allowed) && allowed.includes(type)))
        throw refused('the client may not ask for this type')
      return details
    },
    narrow(had, asked) {
      const left = [...asDetails(had)]
      for (const one of asDetails(asked)) {
        const at = left.findIndex((other) => isWithin(one, other))
        if (at === -1) throw refused('it goes beyond what was approved')
        // What was approved once is not had twice.
        left.splice(at, 1)
      }
      return asked
    },
    consent: (value) =>
      asDetails(value).map((detail) => ({
        key: canonical(detail),
        text: KINDS.get(detail.type)?.describe(detail) ?? detail.type,
        once: KINDS.get(detail.type)?.once ?? false,
      })),
  })

  for (const document of ['access_token', 'tokenResponse'] as const)
    oauth.extend(document, [NAME], async ({ parameters }) => ({ [NAME]: parameters?.[NAME] }))
  oauth.extend('introspection', [NAME], async ({ claims }) => ({ [NAME]: claims[NAME] }))
}

function read(text: string): readonly Detail[] {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw refused('it is not JSON')
  }
  const details = asDetails(value)
  if (!Array.isArray(value) || details.length !== value.length || details.length === 0)
    throw refused('it must be a list of objects that have a type')
  for (const detail of details) assertFits(detail)
  return details
}

function assertFits({ type, ...members }: Detail): void {
  const kind = KINDS.get(type)
  if (kind === undefined) throw refused('there is no such type')
  const names = Object.keys(kind.members)
  if (Object.keys(members).some((name) => !names.includes(name))) throw refused('a member is not known')
  for (const [name, pattern] of Object.entries(kind.members)) {
    const values = [members[name]].flat()
    if (values.length === 0 || !values.every((one) => typeof one === 'string' && pattern.test(one)))
      throw refused(`the member ${name} is missing or malformed`)
  }
}

function asDetails(value: unknown): readonly Detail[] {
  return Array.isArray(value) ? value.filter(isDetail) : []
}

function isDetail(value: unknown): value is Detail {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'
}

/** The same members; of a list fewer, of all else the same. */
function isWithin(less: Detail, more: Detail): boolean {
  const names = [...new Set([...Object.keys(less), ...Object.keys(more)])]
  return names.every((name) => {
    const [some, all] = [less[name], more[name]]
    return Array.isArray(some) && Array.isArray(all)
      ? some.every((one) => all.includes(one))
      : canonical(some) === canonical(all)
  })
}

/** The same text for the same content, in whatever order it was sent. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).toSorted().join()}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const members = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1))
  return `{${members.map(([name, one]) => `${JSON.stringify(name)}:${canonical(one)}`).join()}}`
}

function listed(values: unknown): string {
  return [values].flat().join(' and ')
}

function refused(description: string): OAuthError {
  return new OAuthError('invalid_authorization_details', description)
}
