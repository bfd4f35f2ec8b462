// Shows the Markdown that answers commonly have. Everything else, HTML too, stays text. Repetitions have limits, since
// an answer can consist of beginnings without an end.
const mark = new RegExp([
  /\\([!-\/:-@[-`{-~])/, // 1: a character that means itself
  /`([^`\n]+)`/, // 2: code
  /\*\*\*(?=\S)([^*\n]{1,1000})\*\*\*/, // 3: bold and italic
  /\*\*([^\n]{1,1000}?)\*\*(?!\*)/, // 4: bold
  /(?<![\p{L}\p{N}_])__(?=\S)([^\n]{1,1000}?)__(?![\p{L}\p{N}_])/, // 5: bold
  /\*([^*\s][^*\n]{0,1000})\*/, // 6: italic
  /(?<![\p{L}\p{N}_])_([^_\s][^_\n]{0,1000})_(?![\p{L}\p{N}_])/, // 7: italic
  /~~(?=\S)([^\n]{1,1000}?)~~/, // 8: struck
  /\[([^\]\n]{1,1000})\]\(((?:https?:\/\/|mailto:)[^\s)]+)\)/, // 9, 10: a link
  /(https?:\/\/[^\s<>"'`)\]]+[^\s<>"'`)\].,;:!?])/, // 11: an address
].map(({ source }) => source).join('|'), 'gu')
const inline = (text) => {
  const out = []
  let done = 0
  for (const found of text.matchAll(mark)) {
    const [all, itself, code, both, bold, bold2, italic, italic2, struck, label, to, bare] = found
    out.push(text.slice(done, found.index))
    done = found.index + all.length
    const link = to || bare
    if (itself) out.push(itself)
    else if (code) out.push(make('code', { textContent: code }))
    else if (both) out.push(make('strong', {}, make('em', {}, ...inline(both))))
    else if (bold || bold2) out.push(make('strong', {}, ...inline(bold || bold2)))
    else if (italic || italic2) out.push(make('em', {}, ...inline(italic || italic2)))
    else if (struck) out.push(make('s', {}, ...inline(struck)))
    else out.push(make('a', { href: link, textContent: label || bare, target: '_blank', rel: 'noopener noreferrer nofollow' }))
  }
  return [...out, text.slice(done)].filter((part) => part !== '')
}

const fence = /^\s*```/
const quote = /^\s{0,3}> ?/
const heading = /^#{1,6}\s/
const rule = /^\s*([-*_])(?:\s*\1){2,}\s*$/
const item = /^(\s*)(?:[-*+]|(\d{1,9})[.)])\s+(?=\S)/
const indentOf = (line) => line.search(/\S|$/)
const cells = (line) => line.trim().replace(/^\||(?<!\\)\|$/g, '').split(/(?<!\\)\|/).map((cell) => cell.trim().replace(/\\\|/g, '|'))
const isDivider = (line = '') => line.includes('-') && line.includes('|') && cells(line).every((cell) => /^:?-+:?$/.test(cell))
const beginsTable = (lines, i) => lines[i].includes('|') && isDivider(lines[i + 1]) && cells(lines[i]).length === cells(lines[i + 1]).length

const table = (rows) => {
  const [head, divider, ...body] = rows.map(cells)
  const row = (name, texts) => make('tr', {}, ...divider.map((way, i) => {
    const cell = make(name, name === 'th' ? { scope: 'col' } : {}, ...inline(texts[i] || ''))
    if (way.endsWith(':')) cell.style.textAlign = way.startsWith(':') ? 'center' : 'end'
    return cell
  }))
  return make('div', { className: 'table', tabIndex: 0 }, make('table', {},
    make('thead', {}, row('th', head)), make('tbody', {}, ...body.map((texts) => row('td', texts)))))
}

// depth limits how deep lists and quotes lie in each other; what is deeper stays text.
const blocks = (text) => parse(text.split('\n'), 0)
const parse = (lines, depth) => {
  const out = []
  const isDeep = depth > 6
  const begins = (i) => fence.test(lines[i]) || heading.test(lines[i]) || rule.test(lines[i]) || beginsTable(lines, i) ||
    (!isDeep && (item.test(lines[i]) || quote.test(lines[i])))
  for (let i = 0; i < lines.length;) {
    const line = lines[i]
    const start = i++
    const found = !isDeep && item.exec(line)
    if (!line.trim()) continue
    if (fence.test(line)) {
      while (i < lines.length && !fence.test(lines[i])) i++
      out.push(make('pre', { tabIndex: 0 }, make('code', { textContent: lines.slice(start + 1, i++).join('\n') })))
    } else if (rule.test(line)) out.push(make('hr'))
    else if (heading.test(line)) out.push(make('p', {}, make('strong', {}, ...inline(line.replace(/^#+\s+/, '')))))
    else if (beginsTable(lines, start)) {
      while (i < lines.length && lines[i].includes('|')) i++
      out.push(table(lines.slice(start, i)))
    } else if (found) {
      // What is deeper than the mark belongs to the item, also after empty lines.
      for (let j = i; j < lines.length && (!lines[j].trim() || indentOf(lines[j]) > found[1].length); j++) {
        if (lines[j].trim()) i = j + 1
      }
      const inner = lines.slice(start + 1, i).map((l) => l.slice(Math.min(indentOf(l), found[0].length)))
      const [first, ...rest] = parse([line.slice(found[0].length), ...inner], depth + 1)
      const last = out.at(-1)
      const kind = found[2] ? 'OL' : 'UL'
      const list = last?.tagName === kind ? last : make(kind, found[2] ? { start: +found[2] } : {})
      list.append(make('li', {}, ...first?.tagName === 'P' ? first.childNodes : first ? [first] : [], ...rest))
      if (list !== last) out.push(list)
    } else if (!isDeep && quote.test(line)) {
      while (i < lines.length && quote.test(lines[i])) i++
      out.push(make('blockquote', {}, ...parse(lines.slice(start, i).map((l) => l.replace(quote, '')), depth + 1)))
    } else {
      while (i < lines.length && lines[i].trim() && !begins(i)) i++
      out.push(make('p', {}, ...inline(lines.slice(start, i).join('\n'))))
    }
  }
  return out
}
