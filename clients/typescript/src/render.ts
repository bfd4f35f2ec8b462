import type { FieldError, PromptMessage, PromptVariable, RenderedMessage, RenderMode } from './api.gen.js'
import { bytes, MustacheError, type Node, parse } from './mustache.js'

/** What a prompt consists of: a version of the API has all of it. */
export interface RenderableVersion {
  text?: string
  messages?: PromptMessage[]
  format?: string
  variables?: PromptVariable[]
}

export interface RenderedPrompt {
  /** Of a text prompt. */
  text?: string
  /** Of a chat prompt. Those of a placeholder are as they were given. */
  messages?: RenderedMessage[]
  /** Required variables without a value. */
  missing: string[]
  /** Names of values that the version does not use. */
  unused: string[]
}

/** A prompt that cannot be rendered with these values. The codes are those of `promptTemplates.render`. */
export class RenderError extends Error {
  override readonly name = 'RenderError'
  readonly code: 'missing_variables' | 'invalid_variables' | 'unsupported_syntax' | 'render_too_large'
  readonly errors: FieldError[]
  constructor(code: RenderError['code'], errors: FieldError[] = []) {
    super(`${code}${errors.map((e) => `; ${e.pointer}: ${e.detail}`).join('')}`)
    this.code = code
    this.errors = errors
  }
}

type Value = null | boolean | number | string | Value[] | { [name: string]: Value }
type Values = Map<string, Value>

const maxBytes = 1 << 20
const maxWork = 64 << 20 // as on the server: see domain/mustache/render.go

interface Part {
  text: string
  nodes: Node[]
}

const parsed = new WeakMap<RenderableVersion, Part[]>()

/** The texts of a message that are not empty. */
function textsOf({ content }: PromptMessage): string[] {
  if (typeof content === 'string') return content === '' ? [] : [content]
  return (content ?? []).flatMap((part) => (part.type === 'text' && part.text ? [part.text] : []))
}

/** A message with other texts: next returns one after another. */
function withTexts(message: PromptMessage, next: () => string): RenderedMessage {
  const { content } = message
  if (typeof content === 'string') return { ...message, content: content === '' ? '' : next() }
  if (!Array.isArray(content)) return message.tool_calls ? { ...message, content: null } : { ...message }
  return { ...message, content: content.map((part) => (part.type === 'text' && part.text ? { ...part, text: next() } : part)) }
}

function partsOf(version: RenderableVersion): Part[] {
  let parts = parsed.get(version)
  if (parts) return parts
  const texts = [...(version.text ? [version.text] : []), ...(version.messages ?? []).flatMap(textsOf)]
  try {
    parts = texts.map((text) => ({
      text,
      nodes: version.format === 'none' ? [{ kind: 'literal', name: '', start: 0, end: text.length, nodes: [] }] : parse(text),
    }))
  } catch (e) {
    if (!(e instanceof MustacheError)) throw e
    throw new RenderError('unsupported_syntax', [{ pointer: '/text', code: 'unsupported_syntax', detail: e.message }])
  }
  parsed.set(version, parts)
  return parts
}

/** The declared variables, and those of placeholders. */
function variablesOf(version: RenderableVersion): (PromptVariable & { type: string })[] {
  const all = (version.variables ?? []).map((v) => ({ ...v, type: v.type ?? 'string', required: v.required ?? true }))
  for (const m of version.messages ?? []) {
    if (!m.placeholder) continue
    let v = all.find((v) => v.name === m.placeholder)
    if (!v) all.push((v = { name: m.placeholder, type: 'array', required: false }))
    v.required ||= m.required ?? false
  }
  return all
}

/**
 * Fills in the variables of a version, with the same result as the server, byte for byte. Values are inserted
 * unchanged: they are not escaped or expanded. In mode partial, the tags of required variables without a value are
 * kept. Throws RenderError.
 */
export function render(version: RenderableVersion, values: Record<string, unknown> = {}, mode: RenderMode = 'strict'): RenderedPrompt {
  const parts = partsOf(version)
  const variables = variablesOf(version)
  const given = JSON.parse(JSON.stringify(values)) as Record<string, Value>
  const errors: FieldError[] = []
  const wrong = (pointer: string, code: string, detail: string) => errors.push({ pointer: `/variables/${pointer}`, code, detail })
  const bound: Values = new Map()
  for (const [name, value] of Object.entries(given)) {
    const v = variables.find((v) => v.name === name)
    if ((value !== null || !v || v.type === 'any') && (v || !name.includes('.'))) bound.set(name, value)
  }
  for (const v of variables) {
    const value = bound.get(v.name)
    if ((value ?? undefined) === undefined && v.default !== undefined) bound.set(v.name, v.default as Value)
    else if (value === undefined) continue
    else if (v.type !== 'any' && typeOf(value) !== v.type) wrong(v.name, 'wrong_type', `Must be of type ${v.type}.`)
    else if (v.enum?.length && !v.enum.some((allowed) => encode(allowed as Value) === encode(value))) {
      wrong(v.name, 'not_allowed_value', 'Must be one of the values that the version allows.')
    }
  }
  const messages = version.messages ?? []
  for (const placeholder of new Set(messages.map((m) => m.placeholder))) {
    const list = placeholder ? bound.get(placeholder) : undefined
    if (Array.isArray(list)) list.forEach((item, i) => checkInserted(item, `${placeholder}/${i}`, wrong))
  }
  const missing = variables.filter((v) => v.required && !bound.has(v.name)).map((v) => v.name)
  const invalid = errors.length > 0
  if (mode !== 'partial') for (const name of missing) wrong(name, 'required', 'Must be given.')
  if (invalid) throw new RenderError('invalid_variables', errors)

  const handled = new Set<string>() // names of inverted sections: the text says what to print without a value
  const visit = (nodes: Node[]) => {
    for (const n of nodes) {
      if (n.kind === 'inverted') handled.add(n.name)
      visit(n.nodes)
    }
  }
  for (const p of parts) visit(p.nodes)
  const r = new Renderer(bound, new Set(missing), handled, new Set(variables.filter((v) => !v.required).map((v) => v.name)))
  const out: RenderedPrompt = { missing, unused: unused(given, bound, version, parts) }
  let count = 0
  const next = () => r.render(parts[count++] as Part)
  if (version.text || !version.messages) out.text = version.text ? next() : ''
  if (version.messages) out.messages = []
  for (const m of messages) {
    if (!m.placeholder) out.messages?.push(withTexts(m, next))
    else if (missing.includes(m.placeholder)) out.messages?.push({ ...m })
    else {
      for (const message of (bound.get(m.placeholder) ?? []) as RenderedMessage[]) {
        r.write(JSON.stringify(message), false)
        r.spend(1024)
        out.messages?.push(message)
      }
    }
  }
  if (mode !== 'partial') for (const path of r.absent) wrong(path, 'required', 'Must be given.')
  if (errors.length > 0) throw new RenderError('missing_variables', errors)
  out.missing = [...missing, ...[...r.absent].map((path) => path.replaceAll('/', '.'))]
  return out
}

/** Adds what is wrong with a message that a placeholder inserts. */
function checkInserted(item: Value, pointer: string, wrong: (pointer: string, code: string, detail: string) => void): void {
  if (!isObject(item)) wrong(pointer, 'wrong_type', 'Must be an object: a message.')
  else if (item.role !== undefined && typeof item.role !== 'string') wrong(`${pointer}/role`, 'wrong_type', 'Must be a string.')
}

function typeOf(value: Value): string {
  if (Array.isArray(value)) return 'array'
  return value === null ? 'null' : typeof value
}

/** Compact JSON with sorted keys, as the server writes it. */
function encode(value: Value): string {
  if (Array.isArray(value)) return `[${value.map(encode).join(',')}]`
  if (value !== null && typeof value === 'object') {
    const keys = Object.keys(value).sort(byCodePoints)
    return `{${keys.map((k) => `${encode(k)}:${encode(value[k] as Value)}`).join(',')}}`
  }
  return JSON.stringify(value).replace(/[\u2028\u2029]/g, (c) => `\\u${c.charCodeAt(0).toString(16)}`)
}

/** The order of UTF-8. That of UTF-16, which sort uses, differs beyond U+FFFF. */
function byCodePoints(a: string, b: string): number {
  const [x, y] = [Array.from(a), Array.from(b)]
  for (let i = 0; i < x.length && i < y.length; i++) {
    const d = (x[i]?.codePointAt(0) ?? 0) - (y[i]?.codePointAt(0) ?? 0)
    if (d !== 0) return d
  }
  return x.length - y.length
}

/** A dotted name, and then the name without its last part, one part after another. */
function* prefixes(name: string): Generator<string> {
  for (let i = name.length; i >= 0; i = i > 0 ? name.lastIndexOf('.', i - 1) : -1) yield name.slice(0, i)
}

function unused(given: Record<string, Value>, bound: Values, version: RenderableVersion, parts: Part[]): string[] {
  const used = new Set((version.messages ?? []).map((m) => m.placeholder))
  const visit = (nodes: Node[]) => {
    for (const n of nodes) {
      for (const p of prefixes(n.name)) if (p !== '' && p in given) used.add(p)
      visit(n.nodes)
    }
  }
  for (const p of parts) visit(p.nodes)
  return Object.entries(given)
    .filter(([name, value]) => !used.has(name) || (value !== null && !bound.has(name)))
    .map(([name]) => name)
    .sort(byCodePoints)
}

/** An enclosing section with one item. */
interface Frame {
  value: Value
  base: number // the frame that has the section's value; -1 outside of all
  name: string
  index: number // of the item in its array; -1 if the value is no array
}

/** What is known about a name. A tag that is kept has a variable that is missing. */
type Found = { state: 'known'; value: Value; base: number } | { state: 'unknown'; value: null; base: number } | { state: 'kept' }

const maxAbsences = 100

class Renderer {
  readonly absent = new Set<string>() // paths without a value
  private out: string[] = []
  private text = ''
  private frames: Frame[] = []
  private left = maxBytes
  private work = maxWork
  private readonly values: Values
  private readonly missing: Set<string>
  private readonly handled: Set<string>
  private readonly optional: Set<string>

  constructor(values: Values, missing: Set<string>, handled: Set<string>, optional: Set<string>) {
    this.values = values
    this.missing = missing
    this.handled = handled
    this.optional = optional
  }

  render(part: Part): string {
    this.text = part.text
    this.out = []
    this.nodes(part.nodes)
    return this.out.join('')
  }

  spend(work: number): void {
    this.work -= work
    if (this.work < 0) throw new RenderError('render_too_large')
  }

  write(text: string, keep = true): void {
    this.left -= bytes(text)
    if (this.left < 0) throw new RenderError('render_too_large')
    if (keep) this.out.push(text)
  }

  private nodes(nodes: Node[]): void {
    for (const n of nodes) this.node(n)
  }

  private node(n: Node): void {
    this.spend(32)
    const written = this.text.slice(n.start, n.end)
    if (n.kind === 'literal') return this.write(written)
    const found = this.lookup(n.name)
    if (found.state === 'kept') return this.write(written)
    const { value, base } = found
    if (found.state === 'unknown' && n.kind === 'value' && !this.handled.has(n.name)) {
      this.absence({ value: null, base, name: n.name, index: -1 })
      return this.write(written)
    }
    if (n.kind === 'value') this.print(value)
    else if (n.kind === 'inverted') {
      if (!truthy(value)) this.nodes(n.nodes)
    } else if (truthy(value)) {
      const items = Array.isArray(value) ? value : [value]
      items.forEach((item, i) => {
        this.spend(16)
        this.frames.push({ value: item, base, name: n.name, index: Array.isArray(value) ? i : -1 })
        this.nodes(n.nodes)
        this.frames.pop()
      })
    }
  }

  /** Finds a name in the items of the sections, from the inside out, then among the variables. */
  private lookup(name: string): Found {
    if (name === '.') return { state: 'known', value: this.frames.at(-1)?.value ?? null, base: this.frames.length - 1 }
    const [first = '', ...rest] = name.split('.')
    let base = -1
    for (let i = this.frames.length - 1; i >= 0; i--) {
      const item = this.frames[i]?.value ?? null
      this.work -= 16
      if (isObject(item)) {
        this.work -= 48 + first.length
        if (Object.hasOwn(item, first)) return this.member(item[first] as Value, rest, i)
        if (base < 0) base = i
      }
    }
    let optional = false
    for (const p of prefixes(name)) {
      this.work -= 2 * (48 + p.length)
      if (this.missing.has(p)) return { state: 'kept' }
      const value = this.values.get(p)
      if (value !== undefined) {
        const path = name.slice(p.length + 1)
        const found = this.member(value, path === '' ? [] : path.split('.'), -1)
        return optional && found.state === 'unknown' ? { ...found, state: 'known' } : found
      }
      optional ||= this.optional.has(p)
    }
    return optional ? { state: 'known', value: null, base: -1 } : { state: 'unknown', value: null, base }
  }

  private member(value: Value, path: string[], base: number): Found {
    for (const name of path) {
      if (!isObject(value)) return { state: 'unknown', value: null, base }
      this.work -= 48 + name.length
      if (!Object.hasOwn(value, name)) return { state: 'unknown', value: null, base }
      value = value[name] as Value
    }
    return { state: 'known', value, base }
  }

  /** Notes that the tag of a frame has no value. */
  private absence(frame: Frame): void {
    if (this.absent.size === maxAbsences) return
    this.absent.add(this.path(frame))
    this.spend(512)
  }

  /** Where the value of a frame is among the values of the render. */
  private path(frame: Frame): string {
    const steps: string[] = []
    for (let f: Frame | undefined = frame; f; f = this.frames[f.base]) {
      if (f.index >= 0) steps.push(String(f.index))
      if (f.name !== '.') steps.push(...f.name.split('.').reverse())
    }
    return steps.reverse().join('/')
  }

  private print(value: Value): void {
    if (value === null) return
    if (typeof value === 'string') return this.write(value)
    const text = encode(value)
    if (typeof value !== 'number') this.spend(512 + 16 * bytes(text))
    this.write(text)
  }
}

const isObject = (value: Value): value is { [name: string]: Value } =>
  value !== null && typeof value === 'object' && !Array.isArray(value)

const truthy = (value: Value) => (Array.isArray(value) ? value.length > 0 : isObject(value) || Boolean(value))
