/** `--help`: what it says of commands is all that there is. */
import { expect, test } from 'vitest'
import { clientCommand } from '../../src/commands/client.ts'
import { ClientMetadata } from '../../src/protocol/client-metadata.ts'
import { LOADED_BY_NAME } from '../../src/commands/program.ts'

test('what is said of a command that has others names each of them', async () => {
  for (const [name, description, load] of LOADED_BY_NAME) {
    const { commands } = await load()
    const [, named = ''] = /: ([a-z-]+(?:, [a-z-]+)*)$/.exec(description) ?? []
    const there = commands.map((command) => command.name()).toSorted()
    expect([name, ...named.split(', ').toSorted()]).toEqual([name, ...(there.length === 0 ? [''] : there)])
  }
})

test('the help of a client says that members of our plugins are options too', () => {
  const create = clientCommand().commands.find((command) => command.name() === 'create')!
  const said: string[] = []
  create.configureOutput({ writeOut: (text) => void said.push(text) }).outputHelp()
  expect(said.join('')).toContain(
    'Members that plugins add, ours and those of PLUGINS, are options in the same way: --member-name value.',
  )
  expect(said.join('')).toMatch(/^ {2}--minimum-acr-value <value> {2}What its people show at sign-in/m)
  expect(said.join('')).toContain('npx latchkey client create --client-name Shop --redirect-uris ')
})

test('the help of a client says what each member is, and which take several values', () => {
  const create = clientCommand().commands.find((command) => command.name() === 'create')!
  const said: string[] = []
  create.configureOutput({ writeOut: (text) => void said.push(text) }).outputHelp()
  const lines = said.join('').split('\n')
  for (const name of Object.keys(ClientMetadata.properties)) {
    const option = `--${name.replaceAll('_', '-')} `
    const words = lines.find((line) => line.trim().startsWith(option))
    expect(words).toMatch(/<value(?:\.\.\.)?> +\S+ ?\S*/)
    expect(words).not.toContain(`The member ${name}`)
  }
  expect(said.join('')).toMatch(/--redirect-uris <value\.\.\.> .*\n[^]*--client-uri <value> /)
})
