import { type ReactNode, useId, useState } from 'react'
import { words } from '../text/schema'
import { Button, IconButton } from './basics'
import { Input, Required, Select, TextArea } from './form'
import { AddIcon, CloseIcon } from './icons'
import {
  below, check, fits, fresh, isObject, plain, readJson, readNumber, same, type Schema, type Shape, shapeOf, textOf, unread, type Wrong,
} from './schema'

interface Part {
  schema: Schema | boolean | undefined
  root: Schema
  label: string
  value: unknown
  onChange: (value: unknown) => void
  required?: boolean
  /** What the value is when it is cleared. */
  cleared?: unknown
  at: string
  wrong: Wrong
}

/** A value that a JSON Schema describes, filled in by fields, or as JSON. Errors are by JSON Pointer into the value. */
export function SchemaForm({ schema, label, value, onChange, errors, all }: {
  schema: Schema | null
  label: string
  value: unknown
  onChange: (value: unknown) => void
  /** What the server has found wrong. */
  errors: Wrong
  /** Whether errors of fields that nobody has left yet are shown, too. */
  all: boolean
}) {
  const root = schema ?? {}
  const shape = shapeOf(root, root)
  const [asJson, setAsJson] = useState(false)
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set())
  const own = check(root, value ?? {}, root)
  const seen = Object.fromEntries(Object.entries(own).filter(([at]) => all || [...left].some((l) => at === l || at.startsWith(l + '/'))))
  const wrong = { ...errors, ...seen }
  const form = shape.kind === 'object' && fits(shape, value)
  return (
    <div
      onBlur={(e) => {
        const at = e.target.closest('[data-at]')?.getAttribute('data-at')
        if (at !== null && at !== undefined && !left.has(at)) setLeft(new Set([...left, at]))
      }}
    >
      {form && !asJson && wrong[''] && <p data-wrong tabIndex={-1} className="m-0 mb-2 text-xs text-bad">{wrong['']}</p>}
      {form && !asJson
        ? <Members {...{ shape, root, wrong, onChange, value: value ?? {} }} at="" />
        : <Json label={label} {...{ value, onChange, wrong }} at="" />}
      {shape.kind === 'object' && (
        <Button tone="quiet" className="-ms-3" disabled={asJson && !form} onClick={() => setAsJson(!asJson)}>
          {form && !asJson ? words.editAsJson : words.editAsForm}
        </Button>
      )}
    </div>
  )
}

/** What is wrong with a part that has no fields of its own for what is in it. */
function errorsIn(wrong: Wrong, at: string): string | undefined {
  const found = Object.entries(wrong).filter(([pointer]) => pointer === at || pointer.startsWith(at + '/'))
  return found.map(([pointer, text]) => pointer === at ? text : `${pointer.slice(at.length)}: ${text}`).join(' ') || undefined
}

function Member(p: Part) {
  const shape = shapeOf(p.schema, p.root)
  const { kind, schema: s } = fits(shape, p.value) ? shape : { ...shape, kind: 'json' as const }
  const field = {
    label: p.label,
    hint: [s.description, bounds(s), s.default !== undefined && words.defaultIs(plain(s.default))].filter(Boolean).join(' '),
    error: p.wrong[p.at], 'aria-required': p.required, 'data-at': p.at,
  }
  switch (kind) {
    case 'text': {
      const props = {
        ...field, value: typeof p.value === 'string' ? p.value : '', 
        onChange: (e: { target: { value: string } }) => p.onChange(e.target.value === '' ? p.cleared : e.target.value),
      }
      return (s.maxLength ?? 0) > 200 || String(p.value ?? '').includes('\n')
        ? <TextArea {...props} rows={3} /> : <Input {...props} type={s.format === 'date' ? 'date' : 'text'} />
    }
    case 'number': return <NumberField {...p} {...field} whole={[s.type].flat().includes('integer')} />
    case 'boolean': case 'choice': {
      const options = kind === 'choice' ? shape.options : [{ value: true, label: words.yes }, { value: false, label: words.no }]
      const index = options.findIndex((o) => same(o.value, p.value))
      const known = p.value === undefined || (p.value === null && shape.nullable) || index >= 0
      return (
        <Select
          {...field} value={p.value === undefined || (p.value === null && index < 0) ? '' : known ? index : 'now'}
          onChange={(e) => p.onChange(e.target.value === '' ? p.cleared : options[Number(e.target.value)]?.value)}
          choices={[
            ...(p.required && index >= 0 ? [] : [{ value: '', label: p.required ? words.choose : words.notSet }]),
            ...(known ? [] : [{ value: 'now', label: plain(p.value) }]),
            ...options.map((o, i) => ({ value: String(i), label: o.label })),
          ]}
        />
      )
    }
    case 'choices': return <Choices {...p} shape={shape} hint={field.hint} />
    case 'list': return <List {...p} shape={shape} hint={field.hint} />
    case 'object': return <Nested {...p} shape={shape} hint={field.hint} />
    case 'json': return <Json {...p} label={field.label} hint={field.hint} />
  }
}

function bounds(s: Schema): string | undefined {
  const { minimum: least, maximum: most } = s
  if (least !== undefined && most !== undefined) return words.between(least, most)
  return least !== undefined ? words.atLeast(least) : most !== undefined ? words.atMost(most) : undefined
}

/** Keeps the text as it is typed: "5." is not replaced by "5". */
function useText(value: unknown, read: (text: string) => unknown, show: (value: unknown) => string) {
  const [text, setText] = useState(() => show(value))
  return [same(read(text), value) ? text : show(value), setText] as const
}

function NumberField({ value, onChange, cleared, whole, ...field }: Pick<Part, 'value' | 'onChange' | 'cleared' | 'at'> & {
  whole: boolean; label: ReactNode; hint: string; error: string | undefined; 'aria-required': boolean | undefined
}) {
  const { label, hint, error, at, 'aria-required': required } = field
  const [text, setText] = useText(value, (s) => readNumber(s) ?? cleared, (v) => textOf(v) ?? (typeof v === 'number' ? String(v) : ''))
  return (
    <Input
      {...{ label, hint, error }} aria-required={required} data-at={at} inputMode={whole ? 'numeric' : 'decimal'} autoComplete="off" value={text}
      onChange={(e) => { setText(e.target.value); onChange(readNumber(e.target.value) ?? cleared) }}
    />
  )
}

function Json({ label, hint, value, onChange, at, wrong, cleared, required }: Pick<Part, 'value' | 'onChange' | 'cleared' | 'at' | 'wrong' | 'required'> & {
  label: ReactNode; hint?: string
}) {
  const [text, setText] = useText(value, (s) => readJson(s) ?? cleared, (v) => textOf(v) ?? (v === undefined ? '' : JSON.stringify(v, (_, inner: unknown) => textOf(inner) ?? inner, 2)))
  return (
    <TextArea
      label={label} hint={[hint, words.writtenAsJson].filter(Boolean).join(' ')} error={errorsIn(wrong, at)} data-at={at} aria-required={required}
      rows={Math.min(Math.max(text.split('\n').length, 2), 16)} spellCheck={false} autoComplete="off" dir="ltr"
      style={{ fontFamily: 'ui-monospace, monospace' }}
      value={text} onChange={(e) => { setText(e.target.value); onChange(readJson(e.target.value) ?? cleared) }}
    />
  )
}

/** The members of an object, and what it has besides those that the schema names. */
function Members({ shape, root, value, onChange, at, wrong }: Pick<Part, 'root' | 'value' | 'onChange' | 'at' | 'wrong'> & { shape: Shape }) {
  const s = shape.schema, all = s.properties ?? {}, object = value as Record<string, unknown>
  const order = (name: string) => Number((all[name] as Schema)['x-order'] ?? 0)
  const others = Object.fromEntries(Object.entries(object).filter(([name]) => !Object.hasOwn(all, name)))
  const free = s.additionalProperties === true || isObject(s.additionalProperties)
  const named = Object.fromEntries(Object.entries(object).filter(([name]) => Object.hasOwn(all, name)))
  // What has been typed there and is no JSON yet is kept under a name that no schema has.
  const unfinished = '/'
  const other = Object.hasOwn(others, unfinished) ? others[unfinished] : Object.keys(others).length > 0 ? others : undefined
  const otherErrors = Object.entries(wrong).filter(([p]) => p.startsWith(at + '/'))
    .filter(([p]) => !Object.keys(all).some((name) => p === below(at, name) || p.startsWith(below(at, name) + '/')))
  return (
    <>
      {Object.keys(all).toSorted((a, b) => order(a) - order(b)).map((name) => {
        const required = s.required?.includes(name) ?? false
        const inner = shapeOf(all[name], root)
        return (
          <Member
            key={name} schema={all[name]} root={root} label={inner.schema.title ?? name} value={object[name]} required={required}
            cleared={required && inner.nullable ? null : undefined} at={below(at, name)} wrong={wrong}
            onChange={(next) => {
              const { [name]: _, ...rest } = object
              onChange(next === undefined ? rest : { ...object, [name]: next })
            }}
          />
        )
      })}
      {(free || other !== undefined || otherErrors.length > 0) && (
        <Json
          label={words.otherMembers} value={other} at={at}
          wrong={{ [at]: otherErrors.map(([p, text]) => `${p.slice(at.length)}: ${text}`).join(' ') }}
          onChange={(next) => onChange({
            ...named, ...(next === undefined ? {} : isObject(next) && textOf(next) === undefined ? next
              : { [unfinished]: textOf(next) === undefined ? unread(JSON.stringify(next)) : next }),
          })}
        />
      )}
    </>
  )
}

/** A group of fields within a form. */
function Group({ label, hint, error, at, children }: { label: ReactNode; hint: string; error: string | undefined; at: string; children: ReactNode }) {
  const id = useId()
  return (
    <fieldset
      data-at={at} aria-describedby={hint || error ? id : undefined}
      className="m-0 mb-3 min-w-0 rounded-md border border-line px-3 pt-1 pb-3"
    >
      <legend className="px-1 font-medium">{label}</legend>
      {(hint || error) && (
        <div id={id} className="mb-2 text-xs">
          {hint && <p className="m-0 text-soft">{hint}</p>}
          {error && <p data-wrong className="m-0 mt-1 text-bad" tabIndex={-1}>{error}</p>}
        </div>
      )}
      {children}
    </fieldset>
  )
}

type Grouped = Part & { shape: Shape; hint: string }

const named = (p: Grouped) => p.required ? <>{p.label}<Required /></> : p.label

function Nested(p: Grouped) {
  const present = isObject(p.value)
  return (
    <Group label={named(p)} hint={p.hint} error={p.wrong[p.at]} at={p.at}>
      {present && <Members {...p} />}
      {!present && <Button onClick={() => p.onChange(fresh(p.schema, p.root))}><AddIcon size={14} aria-hidden="true" />{words.addName(p.label)}</Button>}
      {present && !p.required && <Button tone="quiet" className="-ms-3" onClick={() => p.onChange(p.cleared)}>{words.removeName(p.label)}</Button>}
    </Group>
  )
}

function List(p: Grouped) {
  const items = Array.isArray(p.value) ? p.value as unknown[] : []
  const change = (next: unknown[]) => p.onChange(next.length === 0 && !p.required ? p.cleared : next)
  return (
    <Group label={named(p)} hint={p.hint} error={p.wrong[p.at]} at={p.at}>
      {items.map((item, i) => (
        // Fields keep no state but the text that stands for their value, so the place of an item is its key.
        <div key={i} className="flex items-start gap-1">
          <div className="min-w-0 grow">
            <Member
              schema={p.shape.schema.items} root={p.root} label={words.numbered(p.label, i + 1)} value={item} required={false}
              cleared={emptied(p.shape.schema.items, p.root)} at={below(p.at, i)} wrong={p.wrong}
              onChange={(next) => change(items.with(i, next))}
            />
          </div>
          <IconButton
            className="mt-6.5" label={words.removeName(words.numbered(p.label, i + 1))} onClick={() => change(items.toSpliced(i, 1))}
          >
            <CloseIcon size={14} aria-hidden="true" />
          </IconButton>
        </div>
      ))}
      {items.length < (p.shape.schema.maxItems ?? Infinity) && (
        <Button onClick={() => change([...items, fresh(p.shape.schema.items, p.root)])}>
          <AddIcon size={14} aria-hidden="true" />{words.addTo(p.label)}
        </Button>
      )}
    </Group>
  )
}

/** What stays in the place of an item whose field is empty. */
function emptied(schema: Schema | undefined, root: Schema): unknown {
  const { kind, nullable } = shapeOf(schema, root)
  return nullable ? null : kind === 'text' ? '' : kind === 'list' || kind === 'choices' ? [] : unread('')
}

function Choices(p: Grouped) {
  const chosen = Array.isArray(p.value) ? p.value as unknown[] : []
  const others = chosen.filter((v) => !p.shape.options.some((o) => same(o.value, v)))
  const options = [...p.shape.options, ...others.map((value) => ({ value, label: plain(value) }))]
  const errors = errorsIn(p.wrong, p.at)
  return (
    <Group label={named(p)} hint={p.hint} error={errors} at={p.at}>
      {options.map((o) => (
        <label key={JSON.stringify(o.value)} className="flex gap-2">
          <input
            type="checkbox" checked={chosen.some((v) => same(v, o.value))}
            onChange={(e) => {
              const next = options.map((x) => x.value).filter((v) => same(v, o.value) ? e.target.checked : chosen.some((c) => same(c, v)))
              p.onChange(next.length === 0 && !p.required ? p.cleared : next)
            }}
          />
          {o.label}
        </label>
      ))}
    </Group>
  )
}
