/** A browser without eyes: keeps cookies, follows redirects, fills in the forms that pages have. */

export interface Page {
  /** Where it came from, after redirects. */
  url: string
  status: number
  headers: Headers
  body: string
}

export interface Form {
  action: string
  method: string
  fields: Record<string, string>
}

export interface UserAgent {
  /** Follows redirects within the origin; one that leads out of it is not followed: it is the page's `location`. */
  get(url: string | URL): Promise<Page>
  /** Sends a form of the page; `fields` are laid over those that it has. */
  submit(page: Page, id: string, fields?: Record<string, string>): Promise<Page>
  post(url: string, fields: Record<string, string>, headers?: Record<string, string>): Promise<Page>
  /** By name. */
  cookies: Map<string, string>
  /** A second browser with the same cookies. */
  clone(): UserAgent
}

/** As browsers have it. */
const MOST_REDIRECTS = 20

/**
 * `origin` is the server's; `headers` go with every request; an `origin` among them stands in for that of forms. `through` is where a request
 * for an address really goes, as by a balancer.
 */
export function createUserAgent(
  origin: string,
  headers: Record<string, string> = {},
  through: (url: string) => string = (url) => url,
): UserAgent {
  const cookies = new Map<string, string>()

  async function request(
    url: string,
    init: { method?: string; headers?: Record<string, string>; body?: string } = {},
    redirects = 0,
  ): Promise<Page> {
    if (redirects > MOST_REDIRECTS) throw new Error(`too many redirects, the last one to ${url}`)
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const sent = { accept: 'text/html', ...headers, ...(cookie === '' ? {} : { cookie }), ...init.headers }
    const response = await fetch(through(url), {
      ...init,
      headers: sent,
      redirect: 'manual',
    })
    for (const line of response.headers.getSetCookie()) keep(line)
    const location = response.headers.get('location')
    if (location !== null && response.status >= 300 && response.status < 400) {
      const next = new URL(location, url)
      if (next.origin === new URL(origin).origin) {
        await response.body?.cancel()
        return request(next.href, {}, redirects + 1)
      }
    }
    return { url, status: response.status, headers: response.headers, body: await response.text() }
  }

  function keep(line: string): void {
    const [pair = '', ...attributes] = line.split(';')
    const [name, value] = [pair.slice(0, pair.indexOf('=')).trim(), pair.slice(pair.indexOf('=') + 1)]
    if (attributes.some((one) => /^\s*max-age=0$/i.test(one))) cookies.delete(name)
    else cookies.set(name, value)
  }

  const post = async (
    url: string,
    fields: Record<string, string>,
    more: Record<string, string> = {},
  ): Promise<Page> =>
    request(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        origin: headers['origin'] ?? new URL(origin).origin,
        ...more,
      },
      body: new URLSearchParams(fields).toString(),
    })

  return {
    cookies,
    get: async (url) => request(String(url)),
    post,
    async submit(page, id, fields = {}) {
      const form = findForm(page, id)
      if (form === undefined) throw new Error(`no form#${id} on ${page.url}: ${page.status} ${page.body}`)
      return post(form.action, { ...form.fields, ...fields })
    },
    clone() {
      const copy = createUserAgent(origin, headers, through)
      for (const [name, value] of cookies) copy.cookies.set(name, value)
      return copy
    },
  }
}

/** The form with this id, with the values of its hidden and filled-in fields. */
export function findForm({ body, url }: Pick<Page, 'body' | 'url'>, id: string): Form | undefined {
  const [, attributes = '', inner = ''] =
    new RegExp(`<form([^>]*\\sid="${id}"[^>]*)>([\\s\\S]*?)</form>`).exec(body) ?? []
  if (attributes === '') return undefined
  const inputs = [...inner.matchAll(/<input([^>]*)>/g)].map(([, one]) => one!)
  // A box that is not ticked is not sent.
  const sent = inputs.filter((one) => attribute(one, 'type') !== 'checkbox' || /\schecked\b/.test(one))
  const named = sent.filter((one) => attribute(one, 'name') !== undefined)
  const areas = [...inner.matchAll(/<textarea([^>]*)>\n?([^<]*)<\/textarea>/g)]
  const choices = [...inner.matchAll(/<select([^>]*)>([\s\S]*?)<\/select>/g)]
  return {
    action: new URL(attribute(attributes, 'action') ?? url, url).href,
    method: attribute(attributes, 'method') ?? 'get',
    fields: Object.fromEntries([
      ...named.map((one) => [attribute(one, 'name')!, attribute(one, 'value') ?? ''] as const),
      ...areas.map(([, tag, text]) => [attribute(tag!, 'name')!, unescaped(text!)] as const),
      ...choices.map(([, tag, options]) => [attribute(tag!, 'name')!, chosen(options!)] as const),
    ]),
  }
}

/** The value of the option that is selected. */
function chosen(options: string): string {
  return attribute(/<option([^>]*\sselected[^>]*)>/.exec(options)?.[1] ?? '', 'value') ?? ''
}

function attribute(tag: string, name: string): string | undefined {
  const value = new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1]
  return value === undefined ? undefined : unescaped(value)
}

function unescaped(text: string): string {
  return text
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')
}
