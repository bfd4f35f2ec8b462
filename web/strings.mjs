// Checks that what people read stands in src/text alone, and that no style prefers one side of the screen: languages
// that are written from right to left need both. Nor does a text stay that nothing shows.
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join, relative } from 'node:path'
import { parseSync } from 'vite'

/** Attributes and members that hold no text for people, whatever they contain. */
const silent = new Set(`accept action align autoComplete border className class csv d data-field data-steps dir encType
  exact fill font fontFamily form href htmlFor id inputMode key kind lang method mode name onClick pattern queryKey rel
  role sandbox scope side size src status step stroke style target to tone type value viewBox width x`.split(/\s+/))

/** Members whose text people read, however short it is. */
const spoken = new Set(`about alt aria-label children description detail does empty header help hint label labels legend
  none placeholder send text title`.split(/\s+/))

/** Calls whose strings are names, not text. */
const naming = new Set(['lazy', 'querySelector', 'querySelectorAll', 'closest', 'matches', 'screen', 'Set', 'get', 'set', 'has'])

const letters = /\p{L}/u

/** Whether a string is a list of classes. */
const classes = (text) => {
  const parts = text.trim().split(/\s+/)
  return parts.every((p) => /^[a-z0-9:[\]/.#&_>%(),*'="!@+-]+$/.test(p))
    && parts.filter((p) => /[-:]/.test(p)).length * 2 >= parts.length
}
/** Whether a string of which nothing else is known is a sentence or a title. */
const prose = (text) => !classes(text) && !/[[\]=]|var\(/.test(text)
  && (/\p{L}[\p{L},;:.’'…]* [\p{L}(]/u.test(text) || /^\p{Lu}\p{Ll}+[\p{Ll} .…]*$/u.test(text))

/** Finds the nodes of a module that hold text which people read. */
export function find(path, source) {
  const { program, errors } = parseSync(path, source, { lang: path.endsWith('x') ? 'tsx' : 'ts' })
  if (errors.length) throw new Error(`${path}: ${errors[0].message}`)
  const found = []
  const walk = (node, seen) => {
    if (!node || typeof node.type !== 'string') return
    switch (node.type) {
      case 'ImportDeclaration': case 'ExportAllDeclaration': case 'JSXOpeningFragment': return
      case 'ThrowStatement': if (node.argument.type === 'Identifier') return; break
      case 'JSXText': if (letters.test(node.value)) found.push(node); return
      case 'JSXElement': case 'JSXFragment':
        if (node.openingElement) walk(node.openingElement, 'no')
        for (const child of node.children) walk(child, 'yes')
        return
      case 'JSXAttribute': {
        const name = node.name.name?.name ?? node.name.name
        const quiet = silent.has(name) || /^(data|aria)-(?!label)/.test(name)
        walk(node.value, quiet ? 'no' : node.value?.type === 'Literal' || spoken.has(name) ? 'yes' : 'maybe')
        return
      }
      case 'Literal':
        if (typeof node.value !== 'string' || !letters.test(node.value) || seen === 'no' || /^#[\da-f]+$/.test(node.value)) return
        if (seen === 'yes' || prose(node.value)) found.push(node)
        return
      case 'TemplateLiteral': {
        const text = node.quasis.map((q) => q.value.cooked).join('0')
        if (seen !== 'no' && letters.test(text) && (seen === 'yes' || prose(text))) found.push(node)
        for (const e of node.expressions) walk(e, seen)
        return
      }
      case 'TaggedTemplateExpression': return
      case 'Property': {
        const name = node.key.name ?? node.key.value
        walk(node.value, silent.has(name) ? 'no' : spoken.has(name) ? 'yes' : 'maybe')
        return
      }
      case 'ConditionalExpression':
        walk(node.test, 'no')
        walk(node.consequent, seen)
        walk(node.alternate, seen)
        return
      case 'LogicalExpression':
        walk(node.left, node.operator === '&&' ? 'no' : seen)
        walk(node.right, seen)
        return
      case 'BinaryExpression':
        for (const side of [node.left, node.right]) walk(side, node.operator === '+' ? seen : 'no')
        return
      case 'JSXExpressionContainer': walk(node.expression, seen); return
      case 'MemberExpression': walk(node.object, 'maybe'); walk(node.property, 'no'); return
      case 'SwitchCase': for (const s of node.consequent) walk(s, 'maybe'); return
      case 'CallExpression': case 'NewExpression': {
        const quiet = naming.has(node.callee.property?.name ?? node.callee.name)
        walk(node.callee, 'maybe')
        for (const a of node.arguments) walk(a, quiet ? 'no' : 'maybe')
        return
      }
    }
    if (node.type.startsWith('TS') && !/^TS(As|Satisfies|NonNull)/.test(node.type)) return
    for (const [key, value] of Object.entries(node)) {
      if (key === 'typeAnnotation' || key === 'typeArguments' || key === 'parent') continue
      const inner = /Function/.test(node.type) ? 'maybe' : seen
      if (Array.isArray(value)) for (const v of value) walk(v, inner)
      else if (value && typeof value === 'object') walk(value, inner)
    }
  }
  walk(program, 'maybe')
  return found
}

export function* modules(dir) {
  for (const entry of readdirSync(dir, { withFileTypes: true })) {
    const path = join(dir, entry.name)
    if (entry.isDirectory()) yield* modules(path)
    else if (/\.tsx?$/.test(entry.name)) yield path
  }
}

const sided = new RegExp(String.raw`(?<![\w-])-?(?:m[lr]|p[lr]|left|right|border-[lr]|rounded-(?:[lr]|[tb][lr])`
  + String.raw`|scroll-[mp][lr]|text-left|text-right|float-left|float-right)(?:-(?![A-Z]{2})[\w.[\]]+)?(?=[\s'"${'`'}])`, 'g')

if (import.meta.filename === process.argv[1]) {
  const src = join(import.meta.dirname, 'src')
  const used = new Set()
  let wrong = 0
  for (const path of modules(src)) {
    const source = readFileSync(path, 'utf8')
    const report = (at, what) => {
      wrong++
      console.error(`${relative('.', path)}:${source.slice(0, at).split('\n').length}: ${what}`)
    }
    for (const m of source.matchAll(sided)) if (m[0].includes('-')) report(m.index, `${m[0]} prefers a side; use ms-, me-, ps-, pe-, start, end`)
    if (path.startsWith(join(src, 'text'))) continue
    for (const node of find(path, source)) {
      report(node.start, `belongs into src/text: ${source.slice(node.start, node.end).trim().replace(/\s+/g, ' ')}`)
    }
    for (const [, catalogue, key] of source.matchAll(/\b(t|words)\.(\w+)/g)) {
      const from = catalogue === 't' ? 'index' : /import \{ words \} from '.*\/(\w+)'/.exec(source)?.[1]
      used.add(`${from}.${key}`)
    }
  }
  for (const path of modules(join(src, 'text'))) {
    for (const [, key] of readFileSync(path, 'utf8').matchAll(/^  (\w+): /gm)) {
      if (used.has(`${basename(path, '.ts')}.${key}`)) continue
      wrong++
      console.error(`${relative('.', path)}: nothing shows ${key}`)
    }
  }
  if (wrong) process.exit(1)
}
