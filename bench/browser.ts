// Owns signing in as a person does: a browser without eyes that keeps cookies, follows redirects and fills in the
// form that a page has. It is for what happens outside the measurement.

export interface Page {
  url: string
  status: number
  body: string
  /** Where the server sent the browser, when that is somewhere else. */
  leadsTo: URL | undefined
}

export interface Browser {
  get: (url: string) => Promise<Page>
  /** Sends the page's form, with an answer for each field or button of that name. */
  submit: (page: Page, answers: Record<string, string>) => Promise<Page>
  /** For a request of one's own. */
  cookie: () => string
}

export function createBrowser(): Browser {
  const cookies = new Map<string, string>()
  const cookie = () => [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')

  async function request(url: string, init: RequestInit): Promise<Page> {
    const headers = { ...(init.headers as Record<string, string>), accept: 'text/html', cookie: cookie() }
    const response = await fetch(url, { ...init, headers, redirect: 'manual' })
    const body = await response.text()
    for (const line of response.headers.getSetCookie()) {
      const [pair = ''] = line.split(';')
      cookies.set(pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1))
    }
    const location = response.headers.get('location')
    const leadsTo = location === null ? undefined : new URL(location, url)
    if (leadsTo && leadsTo.origin === new URL(url).origin) return request(leadsTo.href, {})
    return { url, status: response.status, body, leadsTo }
  }

  return {
    cookie,
    get: (url) => request(url, {}),
    submit: (page, answers) => {
      const { action, fields } = formOf(page)
      const filled = Object.entries(fields).map(([name, value]) => [name, answers[name] ?? value])
      const headers = {
        'content-type': 'application/x-www-form-urlencoded',
        origin: new URL(page.url).origin,
      }
      return request(action, { method: 'POST', headers, body: new URLSearchParams(filled).toString() })
    },
  }
}

/** The first form; of buttons with one name the last one's value stands. */
function formOf({ url, status, body }: Page): { action: string; fields: Record<string, string> } {
  const [, attributes = '', inner] = /<form([^>]*)>([\s\S]*?)<\/form>/.exec(body) ?? []
  if (inner === undefined) throw new Error(`${url} answered ${status} without a form: ${body.slice(0, 500)}`)
  const tags = [...inner.matchAll(/<(?:input|button)([^>]*)>/g)].map(([, tag = '']) => tag)
  const named = tags.flatMap((tag) => {
    const name = attribute(tag, 'name')
    return name === undefined ? [] : [[name, attribute(tag, 'value') ?? ''] as const]
  })
  return {
    action: new URL(attribute(attributes, 'action') ?? url, url).href,
    fields: Object.fromEntries(named),
  }
}

function attribute(tag: string, name: string): string | undefined {
  return new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1]?.replaceAll('&amp;', '&')
}
