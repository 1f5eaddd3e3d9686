/** Colours as eyes tell them apart, and as near to a given one as can be read. All are `#rrggbb`. */

const BLACK = '#000000'
const WHITE = '#ffffff'

/** The contrast of two colours, 1 to 21 (WCAG 2.2, 1.4.3). */
export function contrast(one: string, other: string): number {
  const [light, dark] = [luminance(one), luminance(other)].toSorted((a, b) => b - a) as [number, number]
  return (light + 0.05) / (dark + 0.05)
}

/** The one of black and white that can be read on it: one of them has a contrast of 4.5 at least with any colour. */
export function inkOn(color: string): string {
  return contrast(color, WHITE) >= 4.5 ? WHITE : BLACK
}

/** The nearest to `color`, on its way to black or to white, whose contrast with each of `grounds` is `least`. */
export function apart(
  color: string,
  toward: 'black' | 'white',
  grounds: readonly string[],
  least: number,
): string {
  for (let share = 0; share < 1; share += 0.01) {
    const shade = mix(color, toward === 'black' ? BLACK : WHITE, share)
    if (grounds.every((ground) => contrast(shade, ground) >= least)) return shade
  }
  return toward === 'black' ? BLACK : WHITE
}

/** `share` of `other`, 0 to 1, the rest of `color`. */
export function mix(color: string, other: string, share: number): string {
  const [from, to] = [channels(color), channels(other)]
  const mixed = from.map((value, at) => Math.round(value * (1 - share) + to[at]! * share))
  return `#${mixed.map((value) => value.toString(16).padStart(2, '0')).join('')}`
}

function channels(color: string): number[] {
  return [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16))
}

function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = channels(color).map((channel) => {
    const value = channel / 255
    return value <= 0.040_45 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}
