/** One colour of an operator's, as the look needs it: what is text stays readable, light and dark. */
import { apart, contrast, inkOn, mix } from './colors.ts'

/** What text stands on: `--surface`, `--ground` and `--raised` of `style.css`. */
export const GROUNDS = {
  light: ['#ffffff', '#f5f6f5', '#f1f3f2'],
  dark: ['#161b1a', '#0e1211', '#1e2524'],
} as const

/** Contrast of text (WCAG 2.2, 1.4.3), and of what is no text (1.4.11). */
const TEXT = 4.5
const SHAPE = 3

interface Tones {
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

export function brandColors(color: string): BrandColors {
  return {
    light: tonesOf(color, 'light'),
    dark: tonesOf(color, 'dark'),
    contrast: Math.min(...GROUNDS.light.map((ground) => contrast(color, ground))),
  }
}

/** Whether it can be read on light pages; on dark ones nearly every colour has to be another. */
export function isReadable({ contrast: own }: BrandColors): boolean {
  return own >= TEXT
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

/** The layer `theme` of the stylesheet. */
export function themeOf({ light, dark }: BrandColors): string {
  const both = (tone: keyof Tones): string => `light-dark(${light[tone]}, ${dark[tone]})`
  return `@layer theme {
  :root {
    --accent: ${both('accent')};
    --button: ${both('button')};
    --button-hover: ${both('hover')};
    --on-button: ${both('onButton')};
  }

  .primary {
    border-color: ${both('accent')};
  }
}
`
}
