import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { AtriumError, type Charset, type Delimiter, type SheetLocale, type SourceLocation, type SourcePair, type TablePreview, type WarehouseTableList } from '@atrium-hq/client'
import { atrium, queries } from '../api'
import { useMutation } from '../app/mutation'
import { firstPage, useWorkspace } from '../app/workspace'
import { Up } from '../app/up'
import { t } from '../text'
import { words } from '../text/sources'
import { Button, Card, Copy, Heading, Loading, Problem } from '../ui/basics'
import { Form, Input, Select } from '../ui/form'
import { Mapper, type Sheet, suggested } from '../ui/mapper'
import { Transforms, useTransformed } from './transform'
import { Upload } from './upload'

export function useTypes() {
  const workspace = useWorkspace()
  return useQuery({
    queryKey: ['source types', workspace], staleTime: 60_000,
    queryFn: () => firstPage(atrium.dataSources.types.list({ workspace })).then((found) => found.data),
  })
}

/** The header row as a member of a body. 0, which means that there is no header, is one too. */
export function headerOf(of: { header_row?: number | null } | undefined) {
  return typeof of?.header_row === 'number' ? { header_row: of.header_row } : {}
}

/** A table of a warehouse in the form of a sheet. */
const asSheet = (p: TablePreview): Sheet => ({
  headers: p.columns.map((c) => ({ name: c.name, column: null, inferred_type: c.inferred_type, sortable: c.sortable })), rows: p.rows, leading_rows: [],
  suggestions: p.suggestions, header_row: null,
})

/** Whether two keys name the same place, in whatever locale. */
const same = (before: readonly unknown[], now: unknown[]) => {
  const without = (key: readonly unknown[]) => JSON.stringify(key, (name, value: unknown) => (name === 'locale' ? undefined : value))
  return without(before) === without(now)
}

/** Reads the place that a source names, live. */
export function useSheet(location: SourceLocation | undefined, type: string) {
  const workspace = useWorkspace()
  return useQuery({
    queryKey: ['sheet', workspace, location, type], enabled: !!location && type !== '', staleTime: 30_000,
    refetchOnWindowFocus: false,
    placeholderData: (before, query) => (query && same(query.queryKey, ['sheet', workspace, location, type]) ? before : undefined),
    queryFn: async (): Promise<Sheet & { tabs?: { id: string; title: string }[]; tab?: string; charset?: string | null; delimiter?: string | null; locale?: string | null; totals_row?: number | null }> => {
      const at = location!
      if (at.url) {
        return atrium.dataSources.previewSheet({
          url: at.url, type, sample_rows: 8, ...(at.tab && { tab: at.tab }), ...headerOf(at),
          ...(at.locale && { locale: at.locale }), ...(at.charset && { charset: at.charset }), ...(at.delimiter && { delimiter: at.delimiter }),
        }, { workspace })
      }
      return asSheet(await atrium.dataSources.previewWarehouse({
        connection_id: at.connection_id!, schema: at.schema!, table: at.table!, type, sample_rows: 5,
      }, { workspace }) as TablePreview)
    },
  })
}

const encodings = ([
  ['utf-8', 'UTF-8'], ['utf-16le', 'UTF-16 LE'], ['utf-16be', 'UTF-16 BE'], ['windows-1252', words.westernEuropeWindows],
  ['macintosh', words.westernEuropeMac], ['windows-1250', words.centralEuropeWindows], ['iso-8859-2', words.centralEuropeIso],
  ['windows-1257', words.baltic], ['windows-1254', words.turkish], ['windows-1251', words.cyrillicWindows], ['koi8-r', words.cyrillicKoi8R],
  ['koi8-u', words.cyrillicKoi8U], ['iso-8859-5', words.cyrillicIso], ['ibm866', words.cyrillicDos], ['x-mac-cyrillic', words.cyrillicMac],
  ['windows-1253', words.greek], ['windows-1255', words.hebrew], ['windows-1256', words.arabic], ['windows-874', words.thai],
  ['windows-1258', words.vietnamese], ['shift_jis', words.japaneseShiftJis], ['euc-jp', words.japaneseEucJp],
  ['iso-2022-jp', words.japaneseIso2022Jp], ['gb18030', words.chineseSimplified], ['big5', words.chineseTraditional], ['euc-kr', words.korean],
] satisfies [Charset, string][]).map(([value, label]) => ({ value, label }))

const delimiters = ([['comma', words.comma], ['semicolon', words.semicolon], ['tab', words.tab], ['pipe', words.verticalBar]] satisfies [Delimiter, string][])
  .map(([value, label]) => ({ value, label }))

const languages = new Intl.DisplayNames('en', { type: 'language', languageDisplay: 'standard' })
const locales = ([
  'cs-CZ', 'da-DK', 'de-AT', 'de-CH', 'de-DE', 'en-AU', 'en-CA', 'en-GB', 'en-IE', 'en-IN', 'en-NZ', 'en-US', 'en-ZA', 'es-ES', 'es-MX',
  'fi-FI', 'fr-CA', 'fr-CH', 'fr-FR', 'it-CH', 'it-IT', 'ja-JP', 'ko-KR', 'nb-NO', 'nl-BE', 'nl-NL', 'pl-PL', 'pt-BR', 'pt-PT', 'ro-RO',
  'ru-RU', 'sk-SK', 'sv-SE', 'tr-TR', 'uk-UA', 'zh-CN', 'zh-TW',
] satisfies SheetLocale[]).map((value) => ({ value: value as string, label: languages.of(value) ?? value }))

/** The name of the locale in which the dates of a sheet are shown. */
export const localeName = (locale: string) => locales.find((l) => l.value === locale)?.label ?? locale

/** Chooses the locale of a workbook: its own, or none for that of the organisation. shown is the one that was read in. */
export function DatesAs({ own, shown, busy, onChange }: {
  own: string | undefined; shown: string | null | undefined; busy: boolean; onChange: (locale: string) => void
}) {
  if (!shown) return null
  return (
    <div className="mb-4 max-w-sm">
      <Select
        label={words.datesAsIn} hint={words.datesAsInHint} value={own ?? ''} disabled={busy} onChange={(e) => onChange(e.target.value)}
        choices={[{ value: '', label: own ? words.asTheOrganisation : words.asTheOrganisationShows(localeName(shown)) }, ...locales]}
      />
    </div>
  )
}

export function NewSource() {
  const workspace = useWorkspace()
  const navigate = useNavigate()
  const types = useTypes()
  const [location, setLocation] = useState<SourceLocation>()
  const [chosen, setChosen] = useState('')
  const [pairs, setPairs] = useState<SourcePair[]>()
  const type = chosen || (types.data?.[0]?.type ?? '')
  const fields = types.data?.find((x) => x.type === type)?.fields ?? []
  const sheet = useSheet(location, type)
  const names = new Set(sheet.data?.headers.map((h) => h.name))
  // A column that the sheet no longer has cannot stay mapped.
  const mapping = (pairs ?? (sheet.data ? suggested(sheet.data) : [])).filter((p) => names.has(p.column))
  const transformed = useTransformed(type, location?.url ? 'sheet' : 'warehouse', sheet.data, mapping)
  const attach = useMutation({
    mutationFn: (v: Record<string, string>) => atrium.dataSources.attach({
      type, ...(v.name && { name: v.name }), mapping,
      location: { ...location, ...(sheet.data?.tab && { tab: sheet.data.tab }), ...headerOf(sheet.data) },
    }, { workspace }),
    onSuccess: async (made) => {
      await queries.invalidateQueries({ queryKey: ['sources'] })
      void navigate({ to: `/w/${workspace}/sources/${made.id}` as string })
    },
  })
  const look = (next: SourceLocation) => {
    setPairs(undefined)
    setLocation(next)
  }
  const missing = fields.filter((f) => f.required && !mapping.some((p) => p.field === f.key))
  if (types.isPending) return <Loading />
  return (
    <>
      <Heading title={t.newSource} up={<Up to="sources">{t.sources}</Up>} />
      <Problem error={types.error} />
      <div className="grid gap-4 md:grid-cols-2">
        <Card title={words.aSpreadsheet}>
          <Form send={words.lookAtTheSheet} busy={sheet.isFetching} onSend={(v) => look({ url: v.url ?? '' })}>
            <Input name="url" label={t.address} required placeholder={words.exampleSheet} hint={words.googleSheetsOrAn} />
          </Form>
          <Upload onUploaded={(url) => look({ url })} />
        </Card>
        <Card title={words.aWarehouseTable}><PickTable onPick={look} /></Card>
      </div>
      <SheetProblem error={sheet.error} />
      {sheet.isFetching && !sheet.data && <Loading />}
      {sheet.data && (
        <>
          <div className="mb-4 flex flex-wrap items-end gap-4">
            <div className="w-60">
              <Select
                label={words.whatItHolds} value={type} onChange={(e) => { setChosen(e.target.value); setPairs(undefined) }}
                choices={(types.data ?? []).map((x) => ({ value: x.type, label: x.title }))}
              />
            </div>
            {sheet.data.tabs && (
              <div role="tablist" aria-label={words.tabsOfTheSheet} className="mb-3 flex flex-wrap gap-1">
                {sheet.data.tabs.map((tab) => (
                  <button
                    key={tab.id} type="button" role="tab" aria-selected={tab.id === sheet.data.tab}
                    onClick={() => look({ url: location!.url!, tab: tab.id, ...(location!.locale && { locale: location!.locale }) })}
                    className="rounded-md border border-line px-3 py-1 text-sm text-ink aria-selected:bg-markbg aria-selected:font-medium"
                  >
                    {tab.title}
                  </button>
                ))}
              </div>
            )}
          </div>
          {sheet.data.charset && (
            <div className="mb-4 grid max-w-lg grid-cols-2 gap-4">
              <Select
                label={words.encoding} hint={words.chooseAnotherOneIf} value={sheet.data.charset}
                onChange={(e) => look({ ...location, charset: e.target.value as Charset })} choices={encodings}
              />
              <Select
                label={words.delimiter} value={sheet.data.delimiter ?? ''}
                onChange={(e) => look({ ...location, delimiter: e.target.value as Delimiter })} choices={delimiters}
              />
            </div>
          )}
          {sheet.data.totals_row && <p className="text-soft">{words.totalsRow(sheet.data.totals_row)}</p>}
          <DatesAs
            own={location?.locale} shown={sheet.data.locale} busy={sheet.isFetching}
            onChange={(locale) => {
              const { locale: _, ...rest } = location!
              setLocation(locale ? { ...rest, locale } : rest)
            }}
          />
          <Mapper
            key={type + JSON.stringify(location)} fields={fields} sheet={sheet.data} pairs={mapping} onChange={setPairs} after={transformed.after}
            onHeaderRow={(row) => {
              const { header_row: _, ...rest } = location!
              look(row === undefined ? rest : { ...rest, header_row: row })
            }}
          />
          <div className="mt-6"><Transforms fields={fields} sheet={sheet.data} pairs={mapping} onChange={setPairs} /></div>
          <Problem error={transformed.error} />
          <div className="mt-6 max-w-lg">
            <Form send={words.saveTheSource} busy={attach.isPending || missing.length > 0} onSend={(v) => attach.mutate(v)}>
              <Input name="name" label={t.name} maxLength={120} placeholder={words.customers} />
              <Problem error={attach.error} />
            </Form>
          </div>
        </>
      )}
    </>
  )
}

/** Why a sheet cannot be read. A sheet that is not shared comes with the address to share it with. */
function SheetProblem({ error }: { error: unknown }) {
  if (!error) return null
  const address = AtriumError.is(error) ? /[\w.+-]+@[\w-]+\.[\w.]+/.exec(error.detail)?.[0] : undefined
  return (
    <>
      <Problem error={error} />
      {address && <p>{words.shareItWithThis} <code>{address}</code> <Copy text={address} /></p>}
    </>
  )
}

function PickTable({ onPick }: { onPick: (location: SourceLocation) => void }) {
  const workspace = useWorkspace()
  const [connection, setConnection] = useState('')
  const list = useQuery({ queryKey: ['connections', workspace, 'all'], queryFn: () => firstPage(atrium.connections.list({ limit: 100 }, { workspace })) })
  const usable = (list.data?.data ?? []).filter((c) => c.status === 'active')
  const id = connection || (usable[0]?.id ?? '')
  const tables = useQuery({
    queryKey: ['tables', id], enabled: id !== '', refetchOnWindowFocus: false,
    queryFn: () => atrium.dataSources.previewWarehouse({ connection_id: id, limit: 100 }, { workspace }) as Promise<WarehouseTableList>,
  })
  if (list.isPending) return <Loading />
  if (usable.length === 0) return <p className="text-soft">{words.thereIsNoVerified}</p>
  return (
    <>
      <Select label={words.connection} value={id} onChange={(e) => setConnection(e.target.value)} choices={usable.map((c) => ({ value: c.id, label: c.name }))} />
      <Problem error={tables.error} />
      {tables.isPending && <Loading />}
      <ul className="m-0 max-h-48 list-none overflow-auto p-0">
        {tables.data?.data.map((table) => (
          <li key={table.schema + '.' + table.name}>
            <Button tone="quiet" onClick={() => onPick({ connection_id: id, schema: table.schema, table: table.name })}>
              {table.schema}.{table.name}
            </Button>
            {table.row_estimate !== null && <span className="text-xs text-soft"> {words.aboutRows(table.row_estimate)}</span>}
          </li>
        ))}
      </ul>
    </>
  )
}
