import { words } from '../text/schema'

/** The part of a JSON Schema (draft 2020-12) that forms are made of. */
export interface Schema {
  [keyword: string]: unknown
  title?: string
  description?: string
  type?: string | string[]
  enum?: unknown[]
  const?: unknown
  default?: unknown
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: boolean | Schema
  items?: Schema
  minimum?: number
  maximum?: number
  exclusiveMinimum?: number
  exclusiveMaximum?: number
  multipleOf?: number
  minLength?: number
  maxLength?: number
  pattern?: string
  format?: string
  minItems?: number
  maxItems?: number
  uniqueItems?: boolean
}

export interface Option { value: unknown; label: string }

/** How a part of a schema is filled in. What no field can express is JSON. */
export interface Shape {
  kind: 'text' | 'number' | 'boolean' | 'choice' | 'choices' | 'list' | 'object' | 'json'
  schema: Schema
  nullable: boolean
  options: Option[]
}

/** Errors by JSON Pointer. */
export type Wrong = Record<string, string>

// What a person has typed in place of a number or of JSON, until it is one. It is a plain object, which drafts keep.
const typed = 'atrium:typed'
export const unread = (text: string) => ({ [typed]: text })
export const textOf = (value: unknown): string | undefined => isObject(value) ? value[typed] as string | undefined : undefined

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
export const same = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b)
export const below = (pointer: string, token: string | number) =>
  `${pointer}/${String(token).replaceAll('~', '~0').replaceAll('/', '~1')}`
const tokens = (pointer: string) => pointer.split('/').slice(1).map((p) => p.replaceAll('~1', '/').replaceAll('~0', '~'))

/** The part of a value that a JSON Pointer names. */
export function part(value: unknown, pointer: string): unknown {
  return tokens(pointer).reduce<unknown>((v, token) =>
    Array.isArray(v) ? v[Number(token)] : isObject(v) && Object.hasOwn(v, token) ? v[token] : undefined, value)
}

/** Follows references within the schema. One that leads in a circle has no fields. */
function follow(schema: Schema, root: Schema): Schema {
  let at = schema
  for (let hops = 0; isObject(at) && typeof at.$ref === 'string'; hops++) {
    const { $ref, ...rest } = at
    const target = hops < 8 && /^#(\/|$)/.test($ref as string) ? part(root, decodeURI(($ref as string).slice(1))) : undefined
    if (!isObject(target)) return {}
    at = { ...target, ...rest }
  }
  return at
}

const simple = (value: unknown) => value === null || ['string', 'number', 'boolean'].includes(typeof value)
const combined = ['allOf', 'anyOf', 'oneOf', 'if', 'dependentSchemas', 'patternProperties', 'prefixItems', '$dynamicRef', '$recursiveRef']

/** Says how a part of the schema root is filled in. */
export function shapeOf(schema: Schema | boolean | undefined, root: Schema): Shape {
  let s = isObject(schema) ? follow(schema, root) : {}
  let nullable = false
  const json = (): Shape => ({ kind: 'json', schema: s, nullable, options: [] })
  const among = (options: Option[]): Shape => ({ kind: 'choice', schema: s, nullable, options })
  for (const keyword of ['anyOf', 'oneOf']) {
    const all = s[keyword]
    if (!Array.isArray(all)) continue
    const { [keyword]: _, ...rest } = s
    const parts = (all as Schema[]).map((p) => isObject(p) ? follow(p, root) : {})
    if (parts.every((p) => 'const' in p && simple(p.const))) {
      return among(parts.map((p) => ({ value: p.const, label: p.title ?? plain(p.const) })))
    }
    const others = parts.filter((p) => p.type !== 'null')
    if (others.length !== 1 || others.length === parts.length) return json()
    nullable = true
    s = { ...others[0], ...rest }
  }
  if (combined.some((keyword) => keyword in s)) return json()
  if ('const' in s && simple(s.const)) return among([{ value: s.const, label: plain(s.const) }])
  if (s.enum) return s.enum.every(simple) ? among(s.enum.map((value) => ({ value, label: plain(value) }))) : json()
  const types = [s.type ?? (s.properties ? 'object' : [])].flat()
  nullable ||= types.includes('null')
  const [type, ...more] = types.filter((x) => x !== 'null')
  if (more.length > 0) return json()
  const field = (kind: Shape['kind'], options: Option[] = []): Shape => ({ kind, schema: s, nullable, options })
  switch (type) {
    case 'string': return field('text')
    case 'number': case 'integer': return field('number')
    case 'boolean': return field('boolean')
    case 'object': return Object.keys(s.properties ?? {}).length > 0 ? field('object') : json()
    case 'array': {
      if (!isObject(s.items)) return json()
      const items = shapeOf(s.items, root)
      return items.kind === 'choice' && s.uniqueItems ? field('choices', items.options) : field('list')
    }
  }
  return json()
}

/** A value as people read it. */
export function plain(value: unknown): string {
  return value === true ? words.yes : value === false ? words.no : typeof value === 'string' ? value : JSON.stringify(value) ?? ''
}

/** The value of a part that is new: an item of a list, or an object with what it must have. */
export function fresh(schema: Schema | boolean | undefined, root: Schema): unknown {
  const shape = shapeOf(schema, root)
  if (shape.schema.default !== undefined) return shape.schema.default
  switch (shape.kind) {
    case 'text': return ''
    case 'boolean': return false
    case 'choice': return shape.options[0]?.value
    case 'choices': case 'list': return []
    case 'object': {
      const must = (shape.schema.required ?? []).map((name) => [name, shape.schema.properties?.[name]] as const)
      return Object.fromEntries(must.flatMap(([name, s]) => {
        const inner = shapeOf(s, root)
        return inner.schema.default !== undefined || inner.kind === 'object' ? [[name, fresh(s, root)]] : []
      }))
    }
  }
  return unread('')
}

/** Whether a field of a shape can show a value. What it cannot show is shown as JSON, so that nothing is lost. */
export function fits(shape: Shape, value: unknown): boolean {
  if (value === undefined || (value === null && shape.nullable)) return true
  switch (shape.kind) {
    case 'text': return typeof value === 'string'
    case 'number': return typeof value === 'number' || textOf(value) !== undefined
    case 'boolean': return typeof value === 'boolean'
    case 'choice': return simple(value)
    case 'choices': case 'list': return Array.isArray(value)
    case 'object': return isObject(value) && textOf(value) === undefined
  }
  return true
}

/**
 * Finds what is wrong in a value, as far as this page can tell. The server checks the rest, such as formats and what
 * several members have to be together.
 */
export function check(schema: Schema | boolean | undefined, value: unknown, root: Schema, at = '', wrong: Wrong = {}): Wrong {
  const shape = shapeOf(schema, root)
  const s = shape.schema
  const is = (broken: boolean, text: string) => { if (broken) wrong[at] ??= text }
  if (value === undefined || (value === null && shape.nullable)) return wrong
  switch (shape.kind) {
    case 'text':
      if (typeof value === 'string') checkText(s, value, is)
      else is(true, words.mustBeText)
      break
    case 'number': checkNumber(s, value, is); break
    case 'boolean': is(typeof value !== 'boolean', words.mustBeBoolean); break
    case 'choice':
      is(!shape.options.some((o) => o.value === value), words.oneOf(shape.options.map((o) => o.label).join(', ')))
      break
    case 'choices': case 'list':
      if (!Array.isArray(value)) { is(true, words.mustBeList); break }
      is(value.length < (s.minItems ?? 0), words.atLeastItems(s.minItems ?? 0))
      is(value.length > (s.maxItems ?? Infinity), words.atMostItems(s.maxItems ?? 0))
      value.forEach((item, i) => {
        check(s.items, item, root, below(at, i), wrong)
        if (s.uniqueItems && value.slice(0, i).some((before) => same(before, item))) wrong[below(at, i)] ??= words.inTheList
      })
      break
    case 'object':
      if (!isObject(value) || textOf(value) !== undefined) { is(true, words.mustBeObject); break }
      for (const name of s.required ?? []) if (value[name] === undefined) wrong[below(at, name)] ??= words.mustBeGiven
      for (const [name, inner] of Object.entries(value)) {
        const own = s.properties && Object.hasOwn(s.properties, name) ? s.properties[name] : undefined
        if (own) check(own, inner, root, below(at, name), wrong)
        else if (textOf(inner) !== undefined) wrong[below(at, name)] ??= words.mustBeJson
        else if (s.additionalProperties === false && inner !== undefined) wrong[below(at, name)] ??= words.noSuchField
        else if (isObject(s.additionalProperties)) check(s.additionalProperties, inner, root, below(at, name), wrong)
      }
      break
    case 'json': is(textOf(value) !== undefined, words.mustBeJson)
  }
  return wrong
}

function checkText(s: Schema, value: string, is: (broken: boolean, text: string) => void) {
  const length = [...value].length
  is(length < (s.minLength ?? 0), words.atLeastCharacters(s.minLength ?? 0))
  is(length > (s.maxLength ?? Infinity), words.atMostCharacters(s.maxLength ?? 0))
  is(!!s.pattern && !matches(s.pattern, value), words.pattern(s.pattern ?? ''))
}

/** The server reads patterns as RE2, in linear time. What this browser cannot read, or a long text, is left to it. */
function matches(pattern: string, value: string): boolean {
  if (value.length > 500) return true
  try {
    return new RegExp(pattern, 'u').test(value)
  } catch {
    return true
  }
}

function checkNumber(s: Schema, value: unknown, is: (broken: boolean, text: string) => void) {
  const whole = [s.type].flat().includes('integer')
  if (typeof value !== 'number') { is(true, whole ? words.mustBeWhole : words.mustBeNumber); return }
  is(whole && !Number.isInteger(value), words.mustBeWhole)
  is(whole && !Number.isSafeInteger(value), words.mustBeExact)
  is(value < (s.minimum ?? -Infinity), words.least(s.minimum ?? 0))
  is(value > (s.maximum ?? Infinity), words.most(s.maximum ?? 0))
  is(value <= (s.exclusiveMinimum ?? -Infinity), words.above(s.exclusiveMinimum ?? 0))
  is(value >= (s.exclusiveMaximum ?? Infinity), words.below(s.exclusiveMaximum ?? 0))
  if (!s.multipleOf) return
  const times = value / s.multipleOf
  is(Math.abs(times - Math.round(times)) > 1e-9 * Math.max(1, Math.abs(times)), words.multiple(s.multipleOf))
}

/** Reads a number as people type it. */
export function readNumber(text: string): unknown {
  const trimmed = text.trim()
  if (trimmed === '') return undefined
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(trimmed) && Number.isFinite(Number(trimmed)) ? Number(trimmed) : unread(text)
}

export function readJson(text: string): unknown {
  if (text.trim() === '') return undefined
  try {
    return JSON.parse(text) as unknown
  } catch {
    return unread(text)
  }
}
