/** Looks at all that a plugin is given, and tells what it found; what it may not have does not compile either. */
import type { FastifyInstance } from 'fastify'

export default async function curious(fastify: FastifyInstance): Promise<void> {
  const { oauth } = fastify
  // @ts-expect-error What seals and opens is the server's alone.
  void oauth.box
  // @ts-expect-error So is what signs,
  void oauth.signJwt
  // @ts-expect-error also by way of the keys,
  void oauth.keys.signer
  // @ts-expect-error and what begins a session,
  void oauth.sessions.start
  // @ts-expect-error the way to the database,
  void oauth.database
  // @ts-expect-error also by way of the audit log,
  void oauth.audit.transaction
  // @ts-expect-error and the settings, which hold secrets.
  void oauth.config.SECRET_KEY

  fastify.get('/curious', async () => {
    const given = Object.entries(oauth)
    const within = given.flatMap(([name, value]) =>
      typeof value === 'object' ? Object.keys(value as object).map((member) => `${name}.${member}`) : [],
    )
    return {
      members: given.map(([name]) => name),
      within,
      keys: oauth.keys.keys().flatMap((key) => Object.keys(key)),
    }
  })
}
