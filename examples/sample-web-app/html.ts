/** HTML as a template literal: what is put in is escaped, unless it is HTML of this kind itself. */

export interface Html {
  readonly html: string
}

type Value = Html | readonly Html[] | string | number | undefined

export function html(parts: TemplateStringsArray, ...values: Value[]): Html {
  return { html: String.raw({ raw: parts }, ...values.map(render)) }
}

function render(value: Value): string {
  if (value === undefined) return ''
  if (typeof value !== 'object') return escape(String(value))
  return [value].flat().reduce((text, one) => text + one.html, '')
}

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
