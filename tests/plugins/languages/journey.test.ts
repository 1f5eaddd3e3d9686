/**
 * One person on their way, in the language that the app asked for: sign-up, the mail, its link, the second factor, and back to the app.
 * @needs latchkey-sign-up, latchkey-second-factor
 */
import { expect, test } from 'vitest'
import { codeOf, recoveryCodesOn, secretOn } from '../../support/authenticator.ts'
import { linkIn, openMailbox } from '../../support/mailbox.ts'
import { startServer } from '../../support/server.ts'
import { answerOf, authorizationUrl, SEED, WEB } from '../../support/sign-in.ts'
import { createUserAgent, type Page } from '../../support/user-agent.ts'

const VAULT = { ...WEB, client_id: 'vault', minimum_acr_value: '2' }
const server = await startServer({ OIDC_SIGN_UP: 'on' }, { seed: { ...SEED, clients: [VAULT] } })
const WHO = { username: 'gerda', email: 'gerda@example.com', password: 'ein ganz eigenes Passwort' }

function expectGerman({ url, headers, body }: Page, words: string): void {
  expect([url, headers.get('content-language')]).toEqual([url, 'de'])
  expect(body).toContain('<html lang="de"')
  expect(body).toContain(words)
}

test('an English browser, from an app that asks for German, stays in German until it is back there', async () => {
  const agent = createUserAgent(server.url, { 'accept-language': 'en' })
  const login = await agent.get(
    authorizationUrl(server, { client_id: 'vault', ui_locales: 'de-AT', state: 'way back' }),
  )
  expectGerman(login, '>Konto erstellen</a>')
  const [, href = ''] = /<a id="sign-up" href="([^"]+)"/.exec(login.body) ?? []
  const form = await agent.get(new URL(href.replaceAll('&amp;', '&'), server.url))
  expectGerman(form, '<h1>Konto erstellen</h1>')
  expectGerman(
    await agent.submit(form, 'sign-up', { ...WHO, username: '' }),
    'Wählen Sie einen Benutzernamen.',
  )
  expectGerman(await agent.submit(form, 'sign-up', WHO), 'E‑Mail mit einem Link')

  const mail = await openMailbox(server).next(WHO.email)
  expect(mail.subject).toBe('Bestätigen Sie Ihre E‑Mail-Adresse')
  expect(mail.html).toContain('<html lang="de"')
  expect(mail.text).toContain('Der Link gilt einen Tag lang')
  // Who reads it elsewhere reads the page as that browser has it.
  const elsewhere = await createUserAgent(server.url, { 'accept-language': 'es' }).get(linkIn(mail))
  expect(elsewhere.headers.get('content-language')).toBe('es')

  const confirm = await agent.get(linkIn(mail))
  expectGerman(confirm, '<h1>Bestätigen Sie Ihre E‑Mail-Adresse</h1>')
  const factor = await agent.submit(confirm, 'confirm')
  expectGerman(factor, '<h1>Zweiten Faktor einrichten</h1>')
  expectGerman(await agent.submit(factor, 'totp', { code: '000' }), 'Dieser Code stimmt nicht')
  const codes = await agent.submit(factor, 'totp', { code: codeOf(secretOn(factor)) })
  expect(recoveryCodesOn(codes)).toHaveLength(10)
  expectGerman(codes, 'Mit jedem melden Sie sich einmal an')
  const consent = await agent.submit(codes, 'recovery-codes-saved')
  expectGerman(consent, 'möchte Zugriff auf Ihr Konto')
  const answer = answerOf(await agent.submit(consent, 'consent', { decision: 'allow' }))
  expect([answer.get('state'), answer.has('code')]).toEqual(['way back', true])
  // One's own pages are as one's own browser has them.
  expect((await agent.get(`${server.url}/account`)).headers.get('content-language')).toBe('en')
})
