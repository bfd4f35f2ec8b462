import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { SourceField, SourcePair, SourceTransform } from '@atrium-hq/client'
import { atrium } from '../api'
import { firstPage, useWorkspace } from '../app/workspace'
import { Card, Forth } from '../ui/basics'
import { Input, Select, TextArea } from '../ui/form'
import type { Sheet } from '../ui/mapper'
import { words } from '../text/sources'

/** What applications will read, for step 3 of the mapping: each value before its transformation, and after. */
export function useTransformed(type: string, backend: 'sheet' | 'warehouse', sheet: Sheet | undefined, pairs: SourcePair[]) {
  const workspace = useWorkspace()
  const names = sheet?.headers.map((h) => h.name) ?? []
  const known = pairs.filter((p) => [p.column, ...(p.transform?.join?.columns ?? [])].every((name) => names.includes(name)))
  const found = useQuery({
    queryKey: ['transformed', workspace, type, backend, names, sheet?.rows, known],
    enabled: known.length > 0 && (sheet?.rows.length ?? 0) > 0, placeholderData: keepPreviousData, staleTime: 60_000,
    queryFn: () => firstPage(atrium.dataSources.previewTransforms(
      { type, backend, columns: names, mapping: known, rows: sheet!.rows }, { workspace })),
  })
  const value = (row: number, field: string) => found.data?.rows[row]?.find((v) => v.field === field)
  return {
    error: found.error,
    after: (row: number, field: string) => {
      const v = value(row, field)
      if (!v) return undefined
      const before = v.before.filter((text) => text !== null).join(' + ')
      if (before === (v.after ?? '') && v.code === null) return before
      return (
        <>
          <span className="text-soft" data-before={field}>{before || '–'}</span> <Forth /> {v.code
            ? <span className="text-bad" data-after={field}>{v.code.replaceAll('_', ' ')}</span>
            : <span className="font-medium" data-after={field}>{v.after ?? '–'}</span>}
        </>
      )
    },
  }
}

const parts = [
  { value: '', label: words.wholeText }, { value: 'first', label: words.beforeTheFirst },
  { value: 'rest', label: words.afterTheFirst }, { value: 'before_last', label: words.beforeTheLast },
  { value: 'last', label: words.afterTheLast },
]
const cases = [
  { value: '', label: words.asItIs }, { value: 'lower', label: words.lowerCase }, { value: 'upper', label: words.upperCase },
  { value: 'title', label: words.firstLetters },
]
const orders = [
  { value: '', label: words.asTheColumnShows }, { value: 'dmy', label: words.dayMonthYear },
  { value: 'mdy', label: words.monthDayYear }, { value: 'ymd', label: words.yearMonthDay },
]
const signs = [
  { value: '', label: words.asTheColumnShows }, { value: 'point', label: words.decimalPoint }, { value: 'comma', label: words.decimalComma },
]
const counts = [
  { value: '', label: words.asItIs }, { value: 'hundredths', label: words.hundredths }, { value: 'thousandths', label: words.thousandths },
]

/** A transformation without the members that are not set; nothing if it changes nothing. */
function tidy(t: SourceTransform): SourceTransform | undefined {
  const set = Object.entries(t).filter(([, v]) => v && (typeof v !== 'object' || Object.keys(v).length > 0))
  return set.length > 0 ? Object.fromEntries(set) : undefined
}

const written = (values: Record<string, string> | undefined) => Object.entries(values ?? {}).map(([from, to]) => `${from} = ${to}`).join('\n')

function valuesOf(text: string) {
  const lines = text.split('\n').map((line) => line.split('=')).filter((pieces) => pieces.length > 1 && pieces[0]!.trim() !== '')
  return Object.fromEntries(lines.map(([from, ...to]) => [from!.trim(), to.join('=').trim()]))
}

/** How the values of each mapped column are changed before applications read them. */
export function Transforms({ fields, sheet, pairs, onChange }: {
  fields: SourceField[]
  sheet: Sheet
  pairs: SourcePair[]
  onChange: (pairs: SourcePair[]) => void
}) {
  const [chosen, setChosen] = useState('')
  const mapped = fields.filter((f) => pairs.some((p) => p.field === f.key))
  const field = mapped.find((f) => f.key === chosen) ?? mapped[0]
  const pair = pairs.find((p) => p.field === field?.key)
  if (!field || !pair) return null
  const t = pair.transform ?? {}
  const set = (change: SourceTransform) => {
    const next = tidy({ ...t, ...change })
    const { transform: _, ...plain } = pair
    onChange(pairs.map((p) => (p === pair ? { ...plain, ...(next && { transform: next }) } : p)))
  }
  const is = (...types: string[]) => types.includes(field.type)
  return (
    <Card title={words.changeTheValues}>
      <div className="grid gap-x-4 sm:grid-cols-2 lg:grid-cols-3">
        <Select
          label={words.transformedField} value={field.key} onChange={(e) => setChosen(e.target.value)}
          choices={mapped.map((f) => ({ value: f.key, label: pairs.find((p) => p.field === f.key)?.transform ? words.isChanged(f.title) : f.title }))}
        />
        <Select
          label={words.partOfTheText} name="part" value={t.split?.part ?? ''} choices={parts}
          onChange={(e) => set({ split: e.target.value ? { ...t.split, part: e.target.value as 'first' } : undefined } as SourceTransform)}
        />
        {t.split && (
          <Input
            label={words.separator} name="separator" maxLength={10} value={t.split.separator ?? ''} placeholder={words.whiteSpace}
            onChange={(e) => set({ split: { part: t.split!.part, ...(e.target.value && { separator: e.target.value }) } })}
          />
        )}
        <Select
          label={words.appendAColumn} name="join" value={t.join?.columns[0] ?? ''}
          choices={[{ value: '', label: words.noColumn }, ...sheet.headers.filter((h) => h.name !== pair.column).map((h) => ({ value: h.name, label: h.name }))]}
          onChange={(e) => set({ join: e.target.value ? { columns: [e.target.value] } : undefined } as SourceTransform)}
        />
        {is('string', 'text', 'email', 'url') && (
          <Select label={words.letters} name="case" value={t.case ?? ''} choices={cases} onChange={(e) => set({ case: e.target.value as 'lower' })} />
        )}
        {is('date', 'datetime') && (
          <Select label={words.orderOfDates} name="date_order" value={t.date_order ?? ''} choices={orders} onChange={(e) => set({ date_order: e.target.value as 'dmy' })} />
        )}
        {is('date', 'datetime') && (
          <Input
            key={`${field.key} format`} label={words.dateFormat} name="format" maxLength={40} defaultValue={t.format ?? ''} placeholder={words.dateFormatExample}
            hint={words.dateFormatHint} onChange={(e) => set({ format: e.target.value.trim() })}
          />
        )}
        {is('integer', 'number') && (
          <Select label={words.decimalSign} name="decimal" value={t.decimal ?? ''} choices={signs} onChange={(e) => set({ decimal: e.target.value as 'comma' })} />
        )}
        {is('integer', 'number') && (
          <Select label={words.counts} name="format" value={t.format ?? ''} choices={counts} onChange={(e) => set({ format: e.target.value })} />
        )}
        <label className="mb-3 flex items-center gap-2">
          <input type="checkbox" name="trim" checked={t.trim ?? false} onChange={(e) => set({ trim: e.target.checked })} />
          {words.removeSpaces}
        </label>
      </div>
      {is('enum') && (
        <TextArea
          key={field.key} label={words.textsAndValues} name="values" defaultValue={written(t.values)}
          hint={words.textsHint(field.enum[0]!, field.enum.join(', '))}
          onChange={(e) => set({ values: valuesOf(e.target.value) })}
        />
      )}
    </Card>
  )
}
