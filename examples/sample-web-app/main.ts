/** Starts the sample web app from the environment; it moves to the next port when its own is taken. */
import { buildApp, type SampleOptions } from './app.ts'

/** How many ports it tries, one after the other. */
const TRIES = 100

function setting(name: string): string {
  const value = process.env[name]
  if (value === undefined || value === '') throw new Error(`${name} must be set`)
  return value
}

async function listen(options: Omit<SampleOptions, 'origin'>, first: number): Promise<() => Promise<void>> {
  for (let port = first; ; port++) {
    const origin = `http://localhost:${port}`
    const app = buildApp({ ...options, origin })
    try {
      await app.listen({ host: '127.0.0.1', port })
    } catch (error) {
      await app.close()
      if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE' && port - first < TRIES) continue
      throw error
    }
    // Who started us as a child process learns the address by this; others read the line.
    if (process.send === undefined) console.log(`Sample web app: ${origin}`)
    else process.send({ origin })
    return () => app.close()
  }
}

const issuer = setting('OIDC_ISSUER')
const stop = await listen(
  {
    issuer: new URL(issuer),
    clientId: setting('OIDC_CLIENT_ID'),
    clientSecret: setting('OIDC_CLIENT_SECRET'),
    books: new URL(process.env['BOOKS_URL'] ?? `${issuer}/books`),
  },
  Number(process.env['PORT'] ?? 3001),
)
// It never outlives the process that started it.
for (const event of ['SIGTERM', 'SIGINT', 'disconnect']) {
  process.once(event, () => void stop().then(() => process.exit(0)))
}
