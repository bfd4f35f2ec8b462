// Puts a card behind a button in the corner. focus is called when a visitor has opened it. place keeps whether it is
// open for the next page of this tab.
const launch = (root, card, words, place, focus) => {
  const dot = make('span', { className: 'dot', hidden: true }, make('span', { className: 'hidden', textContent: words.fresh }))
  const label = make('span', { className: 'hidden', textContent: words.open })
  const bubble = make('button', { type: 'button', className: 'bubble', part: 'launcher', lang: words.lang, dir: words.dir }, label, dot)
  card.classList.add('floating')
  card.id = 'chat'
  bubble.setAttribute('aria-controls', 'chat')
  const show = (open) => {
    card.hidden = !open
    bubble.ariaExpanded = String(open)
    label.textContent = open ? words.close : words.open
    if (open) dot.hidden = true
  }
  const toggle = (open) => {
    show(open)
    place.write(open)
    if (open) focus()
    else bubble.focus()
  }
  show(place.read() === true)
  bubble.onclick = () => toggle(card.hidden)
  card.onkeydown = (e) => { if (e.key === 'Escape') toggle(false) }
  root.append(bubble)
  return {
    open: () => toggle(true),
    close: () => toggle(false),
    notice: () => { dot.hidden = !card.hidden },
    // The corner is that of the screen, whatever the direction of the language.
    place: (corner) => [card, bubble].forEach((node) => {
      node.classList.remove('left', 'right')
      if (corner) node.classList.add(corner)
    }),
  }
}
