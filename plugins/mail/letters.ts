/**
 * Decorates `fastify.letters`: mails in one look. A letter says what there is to say, and both forms of a mail, HTML and text, are made
 * of it by the templates in `templates/mail/`, which are read with the first.
 */
import { Eta } from 'eta/core'
import type { FastifyInstance } from 'fastify'
import { readFile } from 'node:fs/promises'
import type { Config } from '../../src/config.ts'
import type { Mail } from '../../src/doors/mail.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { isolated } from '../../src/protocol/bidi.ts'
import {
  isMessage,
  type Message,
  type MessageValues,
  type Words,
  withValues,
} from '../../src/protocol/message.ts'
import type { Language } from '../../src/services/languages/language.ts'
import type { Reader } from '../../src/services/languages/languages.ts'
import { createMarkers, escapeHtml } from '../pages/markup.ts'
import { linkTo, strict } from '../pages/strict.ts'
import { settled } from '../pages/templates.ts'

export interface Letter {
  /** Of one line. */
  readonly subject: Words
  /** What people chose themselves, as their names, is a value of a message, and shown as it is. */
  readonly paragraphs: readonly Words[]
  /** What people type where they came from, behind the first paragraph; none by default. */
  readonly code?: string
  /** The one thing to do; null for none. Its address is ours: `oauth.issuer` and a path. */
  readonly button: { readonly text: Words; readonly href: string } | null
  /** What to do for who did not ask for it, and is not them. */
  readonly otherwise: Words
  /** As of a mail. */
  readonly until?: number
}

export interface Letters {
  /** Whether mails have a way; without one, what needs them is off. Known once the server is ready. */
  isOn(): boolean
  /** As `oauth.mail.send`, in the language of who reads it; without a reader, in the first of the server's. */
  send(to: string, letter: Letter, reader?: Reader): Promise<void>
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Not there where the plugin `latchkey-mail` is left out. */
    letters: Letters
  }
}

const FOLDER = new URL('../../templates/mail/', import.meta.url)
/** Characters of a name in a subject. */
const MOST = 100
const HEADER = 'const { model, site, link, t, rich, language } = it'

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
  language: Language,
): Promise<Pick<Mail, 'subject' | 'text' | 'html'>> {
  layouts ??= readLayouts()
  const { html, text } = await layouts
  const { rich } = createMarkers(language)
  const say = (words: Words): string => oneLine(language.say(isolating(words, language.direction)))
  const { subject, button, paragraphs, code = null, otherwise } = letter
  const model = {
    subject: say(isMessage(subject) ? withChanged(subject, shortened) : subject),
    paragraphs,
    code,
    button: button === null ? null : { ...button, text: say(button.text) },
    otherwise,
  }
  const { tag, direction } = language
  const given = { model: strict(model, 'letter'), site, link: linkTo, language: { tag, direction } }
  return {
    subject: model.subject,
    text: text({ ...given, t: (words: Words, values?: MessageValues) => say(withValues(words, values)) }),
    html: settled(
      html({
        ...given,
        t: say,
        rich: (words: Words, values?: MessageValues) => rich(oneLined(words), values),
      }),
      language,
    ),
  }
}

/** What somebody is called must not look like the next paragraph. */
function oneLine(text: string): string {
  return text.replaceAll(/[\s\p{Cc}]+/gu, ' ')
}

function oneLined(words: Words): Words {
  return isMessage(words) ? withChanged(words, oneLine) : oneLine(words)
}

/** In text there is no element that does it. */
function isolating(words: Words, direction: Language['direction']): Words {
  return isMessage(words) ? withChanged(words, (value) => isolated(value, direction)) : words
}

function withChanged(words: Message, change: (value: string) => string): Message {
  const values = Object.entries(words.values).map(
    ([name, value]) => [name, typeof value === 'string' ? change(value) : value] as const,
  )
  return { ...words, values: Object.fromEntries(values) }
}

/** Of a name, so that what the subject says of it is there. */
function shortened(value: string): string {
  const characters = Array.from(value)
  return characters.length <= MOST ? value : `${characters.slice(0, MOST - 1).join('')}…`
}

export function senderOf({ BRAND_NAME: name }: Pick<Config, 'BRAND_NAME'>, issuer: string): Sender {
  return { name, host: new URL(issuer).host }
}

const NOBODY: Reader = { tags: [], zone: null }

export function createLetters(fastify: FastifyInstance): Letters {
  const { oauth } = fastify
  const { languages } = kernelOf(fastify)
  const site = senderOf(oauth.config, oauth.issuer)
  return {
    isOn: oauth.mail.isOn,
    async send(to, letter, reader = NOBODY) {
      const language = await languages.of(reader)
      const until = letter.until === undefined ? {} : { until: letter.until }
      return oauth.mail.send({ to, ...(await renderLetter(letter, site, language)), ...until })
    },
  }
}
