/** The pages of streams in a browser: accessible in every state, and done by keyboard without scripts. @needs latchkey-shared-signals, latchkey-admin */
import { describe, expect, test } from 'vitest'
import { assertAccessible } from '../../support/accessibility.ts'
import { noBrowser, textOf } from '../../support/browser.ts'
import { follow, pressEnter, type } from '../../support/keyboard.ts'
import { openSignedIn } from '../../support/people.ts'
import { startServer } from '../../support/server.ts'
import * as signals from '../../support/shared-signals.ts'
import { SEED } from '../../support/sign-in.ts'
import { ROOT } from '../admin/administrator.ts'

const WIDE = `w${'w'.repeat(199)}`
const server = await startServer(
  { OIDC_SHARED_SIGNALS: 'on' },
  {
    seed: {
      ...SEED,
      users: [...SEED.users, ROOT],
      clients: [
        ...SEED.clients,
        signals.app('shop', { client_name: 'Shop' }),
        signals.app('reports'),
        signals.app(WIDE, { client_name: 'W'.repeat(200) }),
      ],
    },
  },
)
const { streams } = server.server.sharedSignals
const { query } = server.database
const idOf = async (client: string) => (await streams.find(client))!.id

/** Each looks different: pushed and failing, held with a long reason, and nothing of it. */
async function makeStreams(): Promise<void> {
  const shop = await signals.signalsAs(server, 'shop')
  const endpoint_url = 'https://receiver.shop.example.com/events/of/security'
  await signals.streamOf(shop, { method: signals.PUSH, endpoint_url, authorization_header: 'Bearer x' })
  await query(`insert into outbox_recipients (kind, recipient, failures, failing_since, rests_until, outcomes)
    select 'security-events', 'shop', 9, now(), now() + interval '5 minutes', json_agg(json_build_object('id', n, 'at', extract(epoch from now()) * 1000 + 5000,
      'milliseconds', 5, 'done', n > 2, 'text', (array['it answered with 401: authentication_failed', 'no answer came (ECONNREFUSED)', '3 taken'])[n])) from generate_series(1, 3) n`)
  await query(`insert into outbox (id, kind, recipient, payload, last_error, tries_until, given_up_at)
    values (gen_random_uuid(), 'security-events', 'shop', 'sealed', 'away', now() - interval '1 minute', now())`)
  await query(`insert into security_events (stream, jti, claims) select $1, '0190' || n, '{}' from generate_series(1, 23) n`, [await idOf('shop')])
  await signals.streamOf(await signals.signalsAs(server, 'reports'), { method: signals.POLL }, [])
  const wide = await signals.signalsAs(server, WIDE)
  const long = { method: signals.PUSH, endpoint_url: `https://${'w'.repeat(60)}.${'w'.repeat(60)}.example.com/` }
  const stream_id = await signals.streamOf(wide, long)
  await wide('PATCH', '/stream', { stream_id, description: 'd'.repeat(500) })
  await wide('POST', '/status', { stream_id, status: 'paused', reason: 'r'.repeat(1000) })
  await query(`insert into removed_subjects (stream, subject) select $1, repeat('s', 240) || n from generate_series(1, 60) n`, [stream_id])
} // prettier-ignore

describe.skipIf(noBrowser)('in a browser', () => {
  test('every page and state is accessible and within its policy', async () => {
    const home = `${server.url}/admin/shared-signals`
    const { page, said } = await openSignedIn(home, ROOT)
    await assertAccessible(page, 'none')
    await makeStreams()
    const [shop, reports, wide] = [await idOf('shop'), await idOf('reports'), await idOf(WIDE)]
    for (const path of [
      '?removed=yes',
      '?search=none',
      `/stream?id=${shop}&done=sent`,
      `/stream?id=${reports}&search=alice`,
      `/stream?id=${wide}&done=changed`,
      `/removal?id=${shop}`,
      `/removal?id=${wide}`,
    ]) {
      await page.goto(`${home}${path}`)
      await assertAccessible(page, path)
    }
    expect(said).toEqual([])
    await page.goto(`${home}/stream?id=${wide}`)
    await page.fill('#reason', 'x'.repeat(1001))
    await page.click('#change')
    expect(await textOf(page, '#reason-error')).toContain('1,000 characters at most')
    await assertAccessible(page, 'refused')
    await page.context().close()
  })

  test('by keyboard and without scripts a stream is found, held and removed', async () => {
    const { page } = await openSignedIn(`${server.url}/admin`, ROOT, { javaScriptEnabled: false })
    await follow(page, 'nav.area a[href="/admin/shared-signals"]', '**/admin/shared-signals')
    await type(page, '#search-text', 'rep')
    await pressEnter(page, '**/admin/shared-signals?search=rep')
    await follow(page, 'tbody th a', '**/stream?id=*')
    await type(page, '#reason', 'We look into it.')
    await pressEnter(page, '**done=paused')
    expect(await page.textContent('#status')).toContain('We look into it.')
    await follow(page, '#remove', '**/removal?id=*')
    await follow(page, '#remove-stream button', '**removed=yes')
    expect(await streams.find('reports')).toBeNull()
    await page.context().close()
  })
})
