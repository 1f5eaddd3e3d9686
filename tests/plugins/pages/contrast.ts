/** Colours as eyes tell them apart. */

/** The contrast of two colours as `rgb(…)` (WCAG 2.2, 1.4.3 and 1.4.11). */
export function contrast(one: string, other: string): number {
  const [light, dark] = [luminance(one), luminance(other)].toSorted((a, b) => b - a) as [number, number]
  return (light + 0.05) / (dark + 0.05)
}

function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = color.match(/[\d.]+/g)!.map((part) => {
    const value = Number(part) / 255
    return value <= 0.040_45 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}
