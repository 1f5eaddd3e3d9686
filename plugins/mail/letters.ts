/**
 * Decorates `fastify.letters`: mails in one look. A letter says what there is to say, and both forms of a mail, HTML and text, are made
 * of it by the templates in `templates/mail/`, which are read with the first.
 */
import { Eta } from 'eta/core'
import type { FastifyInstance } from 'fastify'
import { readFile } from 'node:fs/promises'
import type { Config } from '../../src/config.ts'
import type { Mail } from '../../src/doors/mail.ts'
import { escapeHtml, linkTo, strict } from '../pages/strict.ts'

export interface Letter {
  /** Of one line. */
  readonly subject: string
  /** Plain text each; what people chose themselves, as their names, is shown as it is. */
  readonly paragraphs: readonly string[]
  /** The one thing to do; null for none. Its address is ours: `oauth.issuer` and a path. */
  readonly button: { readonly text: string; readonly href: string } | null
  /** What to do for who did not ask for it, and is not them. */
  readonly otherwise: string
}

export interface Letters {
  /** Whether mails have a way; without one, what needs them is off. Known once the server is ready. */
  isOn(): boolean
  /** As `oauth.mail.send`. */
  send(to: string, letter: Letter): Promise<void>
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Not there where the plugin `latchkey-mail` is left out. */
    letters: Letters
  }
}

const FOLDER = new URL('../../templates/mail/', import.meta.url)
const HEADER = 'const { model, site, link } = it'

interface Layouts {
  readonly html: (given: object) => string
  readonly text: (given: object) => string
}

async function readLayouts(): Promise<Layouts> {
  const compiled = async (name: string, options: object) => {
    const eta = new Eta({
      functionHeader: HEADER,
      parse: { exec: '', interpolate: '=', raw: '' },
      ...options,
    })
    const template = eta.compile(await readFile(new URL(name, FOLDER), 'utf8'))
    return (given: object) => eta.render(template, given)
  }
  return {
    html: await compiled('letter.html.eta', { escapeFunction: escapeHtml }),
    text: await compiled('letter.text.eta', { autoEscape: false }),
  }
}

let layouts: Promise<Layouts> | undefined

/** Whose mail it is, and where the server is, for people. */
export interface Sender {
  name: string
  host: string
}

export async function renderLetter(
  letter: Letter,
  site: Sender,
): Promise<Pick<Mail, 'subject' | 'text' | 'html'>> {
  layouts ??= readLayouts()
  const { html, text } = await layouts
  const model = {
    ...letter,
    paragraphs: letter.paragraphs.map(oneLine),
    otherwise: oneLine(letter.otherwise),
  }
  const given = { model: strict(model, 'letter'), site, link: linkTo }
  return { subject: letter.subject, text: text(given), html: html(given) }
}

/** What somebody is called must not look like the next paragraph. */
function oneLine(text: string): string {
  return text.replaceAll(/[\s\p{Cc}]+/gu, ' ')
}

export function senderOf({ BRAND_NAME: name }: Pick<Config, 'BRAND_NAME'>, issuer: string): Sender {
  return { name, host: new URL(issuer).host }
}

export function createLetters({ oauth }: FastifyInstance): Letters {
  const site = senderOf(oauth.config, oauth.issuer)
  return {
    isOn: oauth.mail.isOn,
    send: async (to, letter) => oauth.mail.send({ to, ...(await renderLetter(letter, site)) }),
  }
}
