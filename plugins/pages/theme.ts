/** A colour as a stylesheet: it fills the layer `theme` of ours. */
import { brandColors, type Tones } from '../../src/protocol/brand-colors.ts'

export function themeOf(color: string): string {
  const { light, dark } = brandColors(color.toLowerCase())
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
