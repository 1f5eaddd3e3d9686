/** The README's walk-through by hand: its commands, as they stand there, against the demo of a development start. */
import { execFile } from 'node:child_process'
import { mkdir, readFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../support/cleanup.ts'
import { spawnServer } from '../support/process.ts'
import { freePort } from '../support/settings.ts'

const run = promisify(execFile)

/** The first code block below a heading. */
async function commandsBelow(heading: string): Promise<string> {
  const readme = await readFile(resolve(import.meta.dirname, '../../README.md'), 'utf8')
  const [, section = ''] = readme.split(`\n## ${heading}\n`)
  const block = /\n```sh\n([\s\S]*?)\n```\n/.exec(section.split('\n## ')[0]!)?.[1]
  if (block === undefined) throw new Error(`README.md has no commands below ${heading}.`)
  return block
}

test('by hand: from the login page to a token, userinfo, and on', async () => {
  const cwd = await temporaryDirectory()
  const DATA_DIR = join(cwd, 'data')
  await mkdir(DATA_DIR)
  const PORT = await freePort()
  // As it is by default: at localhost, where browsers make passkeys, too.
  const server = await spawnServer(
    { DATA_DIR, PORT, OIDC_ISSUER: `http://localhost:${PORT}` },
    { seed: 'demo' },
  )
  const commands = (await commandsBelow('By hand')).replace('http://localhost:3000', server.url)
  const env = { PATH: `${dirname(process.execPath)}:${process.env['PATH']}`, TMPDIR: cwd }

  // Twice: consent that is remembered must not change what comes.
  for (let times = 0; times < 2; times++) {
    const { stdout, stderr } = await run('sh', ['-euc', commands], { cwd, env })
    expect(stderr).toBe('')
    const [answer, ...answers] = stdout.trim().split('\n')
    expect(answer).toMatch(/^http:\/\/localhost:3001\/callback\?code=[\w-]+&state=xyz&iss=/)
    const [tokens, userinfo, books] = answers.map((line) => JSON.parse(line) as unknown)
    expect(tokens).toEqual({
      access_token: expect.any(String),
      token_type: 'bearer',
      expires_in: 3600,
      refresh_token: expect.any(String),
      id_token: expect.any(String),
      scope: 'openid profile email read_books',
    })
    expect(userinfo).toMatchObject({ name: 'Demo User', email: 'demo@example.com', email_verified: true })
    expect(books).toEqual({ books: expect.any(Array) })
  }
})
