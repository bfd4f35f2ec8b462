// The chats of this page, oldest first, whichever of its scripts shows them.
const living = window[Symbol.for('atrium')] ??= []
// Points window.atrium to the first of them, unless the page uses that name for something else.
const point = () => {
  if (window.atrium === undefined || window.atrium === living.first) window.atrium = living.first = living[0]
}

// What the scripts of a page can do with the chat that host shows: act does it, until end is called or host has left the
// page.
const offer = (host, act, end) => {
  const watch = new MutationObserver(() => host.isConnected || destroy())
  const destroy = () => {
    const i = living.indexOf(host.atrium)
    if (i < 0) return
    living.splice(i, 1)
    point()
    watch.disconnect()
    end()
    host.remove()
  }
  host.atrium = Object.freeze({
    ...act,
    destroy,
    // Returns what removes the listener again.
    on: (type, listener) => {
      const hear = (e) => listener(e.detail)
      host.addEventListener('atrium:' + type, hear)
      return () => host.removeEventListener('atrium:' + type, hear)
    },
  })
  living.push(host.atrium)
  point()
  watch.observe(document, { childList: true, subtree: true })
}
