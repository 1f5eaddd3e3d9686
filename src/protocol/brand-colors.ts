/** One colour of an operator's or of a client's, as the look needs it: what is text stays readable, light and dark. */
import { apart, contrast, inkOn, mix } from './colors.ts'
import { message, type Message } from './message.ts'

/** What text stands on: `--surface`, `--ground` and `--raised` of `style.css`. */
export const GROUNDS = {
  light: ['#ffffff', '#f5f6f5', '#f1f3f2'],
  dark: ['#161b1a', '#0e1211', '#1e2524'],
} as const

/** Contrast of text (WCAG 2.2, 1.4.3), and of what is no text (1.4.11). */
const TEXT = 4.5
const SHAPE = 3

/** What one colour becomes, on light pages or on dark ones. */
export interface Tones {
  /** Links, and what has the focus. */
  accent: string
  button: string
  hover: string
  onButton: string
}

export interface BrandColors {
  light: Tones
  dark: Tones
  /** Of the colour itself on light pages, where it is least. */
  contrast: number
}

/** `color` in small letters. */
export function brandColors(color: string): BrandColors {
  return {
    light: tonesOf(color, 'light'),
    dark: tonesOf(color, 'dark'),
    contrast: Math.min(...GROUNDS.light.map((ground) => contrast(color, ground))),
  }
}

/** What to tell of one that cannot be read on light pages; undefined of others. On dark ones nearly every colour has to be another. */
export function colorCaution(color: string): Message | undefined {
  const { contrast: own, light } = brandColors(color.toLowerCase())
  if (own >= TEXT) return undefined
  return message(
    '{color} has a contrast of {contrast, number} on light pages, where text needs {least, number}: links there are {link}. Buttons keep their colour.',
    { color, contrast: Math.floor(own * 10) / 10, least: TEXT, link: light.accent },
  )
}

function tonesOf(color: string, scheme: 'light' | 'dark'): Tones {
  const grounds = GROUNDS[scheme]
  const accent = apart(color, scheme === 'light' ? 'black' : 'white', grounds, TEXT)
  // On light pages text tells that it is a button, and the border; a dark one on a dark page would be a hole.
  const button = scheme === 'light' ? color : apart(color, 'white', grounds, SHAPE)
  const onButton = inkOn(button)
  return {
    accent,
    button,
    hover: mix(button, onButton === '#ffffff' ? '#000000' : '#ffffff', 0.15),
    onButton,
  }
}
