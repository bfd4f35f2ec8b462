/** A part of a text: the text between tags, a tag, or a section with its content. @internal */
export interface Node {
  kind: 'literal' | 'value' | 'section' | 'inverted'
  name: string
  start: number
  end: number
  nodes: Node[]
}

/** A text is not valid: where, and why. @internal */
export class MustacheError extends Error {}

const names = /^(?:\.|[A-Za-z_][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*)$/
const space = /^[\t\n\v\f\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+|[\t\n\v\f\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+$/g
const trim = (text: string) => text.replace(space, '')
const maxNesting = 32
const maxDelimiter = 16 // bytes
const spaces = /[\t\n\v\f\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/

/** The length in UTF-8. TextEncoder needs longer for the many short parts of a long text. @internal */
export function bytes(text: string): number {
  let n = text.length
  for (let i = 0; i < text.length; i++) {
    const c = text.codePointAt(i) as number
    if (c >= 0x80) n += c < 0x800 ? 1 : 2
    if (c > 0xffff) i++
  }
  return n
}

/** Parses the part of Mustache that prompts use, as the server does. @internal */
export function parse(text: string): Node[] {
  const root: Node[] = []
  const open: Node[] = []
  let items = 0 // sections that are open: {{.}} names the item of the innermost one
  let pos = 0
  let [opening, closing] = ['{{', '}}']
  const add = (node: Node) => (open.at(-1)?.nodes ?? root).push(node)
  const literal = (end: number) => {
    if (end > pos) add({ kind: 'literal', name: '', start: pos, end, nodes: [] })
    pos = end
  }
  while (pos < text.length) {
    let start = text.indexOf(opening, pos)
    if (start < 0) {
      literal(text.length)
      break
    }
    const refuse = (reason: string): never => {
      throw new MustacheError(`Line ${text.slice(0, start).split('\n').length}: ${reason}`)
    }
    const first = start + opening.length
    const mark = text[first]
    const close = (mark === '{' ? '}' : mark === '=' ? '=' : '') + closing
    const at = text.indexOf(close, mark === '=' ? first + 1 : first)
    if (at < 0) refuse('the tag is not closed.')
    let end = at + close.length
    let name = trim(text.slice(first, end - closing.length))
    let sigil = ''
    if (name !== '' && '#^/!&{><$='.includes(name[0] as string)) {
      sigil = name[0] as string
      name = trim(name.slice(1))
    }
    if (sigil === '{') {
      if (!name.endsWith('}')) refuse('{{{ is not closed by }}}.')
      name = trim(name.slice(0, -1))
    }
    if (sigil === '>') refuse('partials are not supported.')
    if (sigil === '<' || sigil === '$') refuse('parents and blocks are not supported.')
    if (sigil !== '!' && sigil !== '=' && (!names.test(name) || name.length > 256)) refuse('the name of a tag is not valid.')
    if (name === '.' && items === 0 && sigil !== '!' && sigil !== '/') refuse('{{.}} has a meaning only inside a section.')
    if (sigil !== '' && '#^/!='.includes(sigil)) [start, end] = standalone(text, pos, start, end)
    literal(start)
    pos = end
    if (sigil === '!') continue
    if (sigil === '=') {
      const body = name.slice(0, -1)
      const [a = '', b = '', ...more] = body.split(spaces).filter((d) => d !== '')
      if (!name.endsWith('=') || body.includes('=') || b === '' || more.length > 0 || Math.max(bytes(a), bytes(b)) > maxDelimiter) {
        refuse('{{= =}} must hold two delimiters of at most 16 bytes, with a space between them and no =.')
      }
      ;[opening, closing] = [a, b]
      continue
    }
    if (sigil === '#' || sigil === '^') {
      if (open.length >= maxNesting) refuse(`sections are nested more than ${maxNesting} deep.`)
      const kind = sigil === '#' ? 'section' : 'inverted'
      if (kind === 'section') items++
      open.push({ kind, name, start, end, nodes: [] })
    } else if (sigil === '/') {
      const closed = open.pop()
      if (closed?.name !== name) return refuse('the closing tag is not that of the innermost open section.')
      if (closed.kind === 'section') items--
      closed.end = end
      add(closed)
    } else add({ kind: 'value', name, start, end, nodes: [] })
  }
  if (open.length > 0) throw new MustacheError('A section is not closed.')
  return root
}

/** Extends a tag to its whole line if the line has only blanks besides it: such a line leaves no trace. */
function standalone(text: string, pos: number, start: number, end: number): [number, number] {
  const isBlank = (c: string | undefined) => c === ' ' || c === '\t'
  let from = start
  while (from > pos && isBlank(text[from - 1])) from--
  if (from > 0 && text[from - 1] !== '\n') return [start, end]
  let to = end
  while (isBlank(text[to])) to++
  if (to === text.length) return [from, to]
  if (text[to] === '\n') return [from, to + 1]
  if (text.startsWith('\r\n', to)) return [from, to + 2]
  return [start, end]
}
