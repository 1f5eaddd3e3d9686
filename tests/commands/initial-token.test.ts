/** Initial access tokens by the command line: what is made, listed and ended, and what is refused in a sentence. */
import { expect, test } from 'vitest'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { commandsHere, runCommandHere } from '../support/command-here.ts'
import { startServer } from '../support/server.ts'

const server = await startServer()
const settings = { ...server.settings, LOG_LEVEL: 'error' }
const tokens = commandsHere(settings, 'initial-token')
const { initialTokens } = kernelOf(server.server)

test('one is made with what it allows, listed without itself, and ended', async () => {
  const allows = [
    '--scopes',
    'read_books, write_books',
    '--grant-types',
    'client_credentials',
    '--redirect-hosts',
    'app.example',
  ]
  const made = await tokens.runJson('create', 'partners', '--uses', '5', '--expires-in', '3600', ...allows)
  expect(made).toEqual({ name: 'partners', token: expect.stringMatching(/^lki_[\w-]{43}$/) as string })
  expect(await initialTokens.find((made as { token: string }).token)).toMatchObject({ name: 'partners' })
  const listed = await tokens.runJson('list')
  expect(listed).toEqual([
    {
      name: 'partners',
      uses_left: 5,
      expires_at: expect.any(String) as string,
      created_at: expect.any(String) as string,
      scopes: ['read_books', 'write_books'],
      grant_types: ['client_credentials'],
      redirect_hosts: ['app.example'],
    },
  ])
  expect(await tokens.runJson('delete', 'partners', '--yes')).toEqual({ name: 'partners', deleted: true })
  expect(await tokens.runJson('list')).toEqual([])
})

test('a list goes on behind a name', async () => {
  for (const name of ['a', 'b', 'c']) await initialTokens.create({ name })
  const listed = await tokens.runJson('list', '--after', 'a', '--limit', '1')
  expect(listed).toEqual([expect.objectContaining({ name: 'b' })])
})

test.each([
  ['a name that is taken', ['create', 'a'], /name is that of another initial token/],
  ['a name with a space', ['create', 'two words'], /name/],
  ['no number', ['create', 'x', '--uses', 'many'], /--uses/],
  ['too few uses', ['create', 'x', '--uses', '0'], /uses must be >= 1/],
  ['too short a life', ['create', 'x', '--expires-in', '1'], /expires_in must be >= 60/],
  [
    'an odd host',
    ['create', 'x', '--redirect-hosts', 'https://app.example'],
    /redirect_hosts must hold host names/,
  ],
  ['an odd scope', ['create', 'x', '--scopes', 'a"b'], /scopes must hold scope names/],
  ['an end that nobody meant', ['delete', 'a'], /add --yes/],
  ['one that is not there', ['delete', 'nobody', '--yes'], /name is no initial token/],
])('%s is refused in a sentence', async (_name, args, problem) => {
  const { status, stderr, stdout } = await runCommandHere(['initial-token', ...args], settings)
  expect([status, stdout]).toEqual([1, ''])
  expect(stderr).toMatch(problem)
})
