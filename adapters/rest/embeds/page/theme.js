// Text on a colour: black or white, whichever is easier to read (WCAG 2.2, relative luminance).
const textOn = (color) => {
  const [r, g, b] = [1, 3, 5].map((i) => parseInt(color.slice(i, i + 2), 16) / 255)
    .map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? '#000000' : '#ffffff'
}

// Gives an element the theme of a chat, as variables of the style. page is the color-scheme of the page.
const dress = (node, theme, page) => {
  const set = (name, value) => value ? node.style.setProperty('--t-' + name, value) : node.style.removeProperty('--t-' + name)
  for (const [end, colors] of [['', theme.light], ['-dark', theme.dark]]) {
    for (const name of ['primary', 'background', 'surface', 'text']) set(name + end, colors?.[name])
    set('on-primary' + end, colors?.primary && textOn(colors.primary))
  }
  set('radius', theme.radius !== undefined && theme.radius + 'px')
  set('font', theme.font)
  node.style.colorScheme = { light: 'light', dark: 'dark', auto: 'light dark' }[theme.scheme] || page
}
