/** Settings of the pages: their looks, and the languages that they speak. */
import { Type } from '../protocol/schema.ts'

export const PageSettings = {
  BRAND_NAME: Type.String({
    default: 'Latchkey',
    pattern: '^(?!\\s)[^\\p{Cc}\\p{Zl}\\p{Zp}]{1,60}$',
    expects: 'a line of 60 characters at most',
    description: 'what the service is called, on pages and in mails',
  }),
  BRAND_LOGO: Type.Optional(
    Type.String({
      minLength: 1,
      description:
        'a picture beside the name: a file that ends in .svg, .png, .webp or .jpg, or an https address',
    }),
  ),
  BRAND_COLOR: Type.Optional(
    Type.String({
      pattern: '^#[0-9A-Fa-f]{6}$',
      expects: 'a colour such as #0b6b5e',
      description:
        'of buttons and links, such as #0b6b5e; links are made darker or lighter where they could not be read',
    }),
  ),
  BRAND_DIRECTORY: Type.Optional(
    Type.String({
      minLength: 1,
      description:
        'a folder with a stylesheet, pictures, fonts, words and templates of your own; latchkey brand init begins one',
    }),
  ),
  BRAND_SUPPORT_URL: Type.Optional(
    Type.String({
      description: 'where people get help: an https or mailto address, at the foot of each page',
    }),
  ),
  BRAND_POLICY_URL: Type.Optional(
    Type.String({ description: 'the privacy policy of the service, at the foot of each page' }),
  ),
  BRAND_TERMS_URL: Type.Optional(
    Type.String({ description: 'the terms of the service, at the foot of each page' }),
  ),
  UI_LOCALES: Type.Array(Type.String({ pattern: '^[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*$' }), {
    default: ['en', 'de', 'es'],
    minItems: 1,
    expects: 'language tags with commas between, such as en,de,es',
    description:
      'languages of pages and mails; the first is for who reads none of them; more than en, de and es need a catalogue of yours',
  }),
}
