/** The grant by which an app redeems a code. */
import { OAuthError, Type, type OAuth } from 'latchkey'
import { PAIRING, type Pairings } from './codes.ts'

export const GRANT_TYPE = 'urn:example:pairing'

/** Of 10^10 codes, of which few are good at a time; `recovery` in seconds. */
const TRIES = { failures: 10, recovery: 30 }

export function addGrant(oauth: OAuth, pairings: Pairings): void {
  const guesses = oauth.throttle(PAIRING, { account: TRIES, network: TRIES })

  oauth.registerGrant({
    type: GRANT_TYPE,
    publicClients: true,
    parameters: Type.Object({ pairing_code: Type.String() }),
    async authorize({ pairing_code }, { client, request }) {
      const attempt = await guesses.attempt(client.clientId, request.ip)
      try {
        const found = await pairings.find(pairing_code, client.clientId)
        const sid = found?.granted.authentication?.sid
        if (found === null || sid === undefined || !(await oauth.sessions.isOpen(sid))) {
          await attempt.failed()
          throw new OAuthError('invalid_grant', 'the pairing_code is not known, was used, or is too old')
        }
        attempt.succeeded()
        const spends = [{ kind: PAIRING, handle: found.handle }]
        return { ...found.granted, refreshable: true, whileSignedIn: sid, spends }
      } finally {
        attempt.abandoned()
      }
    },
  })
}
