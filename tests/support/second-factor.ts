/** A second factor as a plugin has it: a PIN among the user's records, asked of who is careful, and where a client asks for it. */
import type { FastifyInstance } from 'fastify'

export const PIN = '4711'
/** The role whose people have to give it wherever they go. */
export const CAREFUL = 'careful'

/** For `startServer({}, { extend: addSecondFactor })`. */
export async function addSecondFactor(server: FastifyInstance): Promise<void> {
  const { oauth } = server
  const pages = server.pages as unknown as { add(name: string, file: URL, options: object): Promise<void> }
  await pages.add('pin', new URL('../plugins/authorize/pin.eta', import.meta.url), { kind: 'interaction' })
  oauth.add('assurance', {
    name: 'second-factor',
    require({ user, request: { client, parameters } }) {
      const wished = ((parameters['acr_values'] as string | undefined) ?? '').split(' ').includes('2')
      const demanded = client.clientId === 'vault'
      return wished || demanded || user.roles.includes(CAREFUL) ? { acr: ['2'] } : null
    },
  })
  oauth.add('interactionStep', {
    name: 'second-factor',
    phase: 'authenticate',
    required: 'login_required',
    run: async ({ missing }) =>
      missing.some(({ acr }) => acr?.includes('2')) ? { page: 'pin', model: { wrong: false } } : 'done',
    submit: async (_interaction, { pin }) =>
      pin === PIN
        ? { note: {}, shown: { amr: ['otp', 'mfa'], acr: '2' } }
        : { page: 'pin', model: { wrong: true }, status: 403 },
  })
}
