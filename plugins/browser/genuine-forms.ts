/** Whether a form came from a page of ours, in the browser that it was shown in: what no page of another site can forge. */
import type { FastifyRequest } from 'fastify'
import type { BrowserCall } from '../../src/doors/interaction.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import type { Wire } from '../../src/protocol/wire.ts'
import type { Kernel } from '../../src/services/kernel.ts'
import { ExpiredForm } from '../pages/expired-form.ts'

export interface GenuineForms {
  /** For the field `csrf_token` of a form with this `purpose`. */
  csrfToken(call: BrowserCall, purpose: string): string
  /** Throws `access_denied` (403) for a form from another site. Enough for one that does nothing but show a page. */
  assertFromHere(call: BrowserCall): void
  /**
   * Throws `access_denied` (403) unless the form came from a page of ours, in this browser, for one of these purposes;
   * one that has expired leads back to where it came from.
   */
  assertGenuine(call: BrowserCall, wire: Wire, ...purposes: readonly string[]): void
}

/** What a browser is known by. */
export interface BrowserId {
  /** Given to it where it has none. */
  of(call: BrowserCall): string
  /** What it came with. */
  read(request: FastifyRequest): string | undefined
}

/** @internal */
export function createGenuineForms({ issuer, config, box }: Kernel, id: BrowserId): GenuineForms {
  const { origin: issuerOrigin, protocol } = new URL(issuer)

  /** The issuer's, whatever Host a proxy passes on; without https, as on a developer's machine, also by another name. */
  const isOurs = (origin: string, { host = '' }: FastifyRequest['headers']): boolean =>
    origin === issuerOrigin || (protocol !== 'https:' && origin === `http://${host}`)

  /** A page of another site cannot forge these headers; browsers that send none are left to the token. */
  function assertSameOrigin({ headers }: FastifyRequest): void {
    const { origin, 'sec-fetch-site': site = 'same-origin' } = headers
    const ours = origin === undefined || isOurs(origin, headers)
    if (!ours || (site !== 'same-origin' && site !== 'none')) throw forged()
  }

  /** The path of the page that the form stood on; null where the browser does not say, or says another site's. */
  function pageBefore({ headers }: FastifyRequest): string | null {
    const { referer = '' } = headers
    if (!URL.canParse(referer)) return null
    const { origin, pathname, search } = new URL(referer)
    const ours = isOurs(origin, headers) && pathname.startsWith(`${config.basePath}/`)
    return ours && !pathname.startsWith('//') ? pathname + search : null
  }

  return {
    csrfToken: (call, purpose) => box.hash(csrfOf(purpose, id.of(call))),
    assertFromHere: ({ request }) => assertSameOrigin(request),
    assertGenuine({ request }, wire, ...purposes) {
      assertSameOrigin(request)
      const [value, token] = [id.read(request), wire['csrf_token']]
      const isGenuine =
        value !== undefined &&
        typeof token === 'string' &&
        purposes.some((purpose) => box.matches(csrfOf(purpose, value), token))
      if (!isGenuine) throw new ExpiredForm(pageBefore(request))
    },
  }
}

function csrfOf(purpose: string, browserId: string): string {
  return `csrf\0${purpose}\0${browserId}`
}

function forged(): OAuthError {
  return new OAuthError('access_denied', 'the form did not come from a page of ours; go back and try again')
}
