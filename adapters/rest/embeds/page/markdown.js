// Shows the Markdown that answers commonly have. Everything else, HTML too, stays text.
const inline = (text) => {
  const out = []
  const mark = /`([^`\n]+)`|\*\*([^\n]+?)\*\*|\*([^*\s][^*\n]*)\*|\[([^\]\n]+)\]\(((?:https?:\/\/|mailto:)[^\s)]+)\)|(https?:\/\/[^\s<>"'`)\]]+[^\s<>"'`)\].,;:!?])/
  for (let found; (found = mark.exec(text));) {
    const [all, code, bold, italic, label, to, bare] = found
    out.push(text.slice(0, found.index))
    text = text.slice(found.index + all.length)
    if (code) out.push(make('code', { textContent: code }))
    else if (bold) out.push(make('strong', {}, ...inline(bold)))
    else if (italic) out.push(make('em', {}, ...inline(italic)))
    else out.push(make('a', { href: to || bare, textContent: label || bare, target: '_blank', rel: 'noopener noreferrer nofollow' }))
  }
  return [...out, text].filter((part) => part !== '')
}
const blocks = (text) => {
  const out = []
  const lines = text.split('\n')
  for (let i = 0; i < lines.length;) {
    const line = lines[i++]
    const item = /^\s*(?:([-*+])|(\d{1,9})[.)])\s+(.*)$/.exec(line)
    if (/^\s*```/.test(line)) {
      const code = []
      while (i < lines.length && !/^\s*```/.test(lines[i])) code.push(lines[i++])
      i++
      out.push(make('pre', { tabIndex: 0 }, make('code', { textContent: code.join('\n') })))
    } else if (item) {
      const last = out.at(-1)
      const kind = item[1] ? 'UL' : 'OL'
      const list = last?.tagName === kind ? last : make(kind, item[2] ? { start: +item[2] } : {})
      list.append(make('li', {}, ...inline(item[3])))
      if (list !== last) out.push(list)
    } else if (/^#{1,6}\s/.test(line)) {
      out.push(make('p', {}, make('strong', {}, ...inline(line.replace(/^#+\s+/, '')))))
    } else if (line.trim()) {
      const part = [line]
      while (i < lines.length && lines[i].trim() && !/^\s*(```|[-*+]\s|\d{1,9}[.)]\s|#{1,6}\s)/.test(lines[i])) part.push(lines[i++])
      out.push(make('p', {}, ...inline(part.join('\n'))))
    }
  }
  return out
}
