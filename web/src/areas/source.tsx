import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import type { SheetLocale, Source as Data, SourceChanges, SourcePair } from '@atrium-hq/client'
import { atrium, queries } from '../api'
import { useMutation } from '../app/mutation'
import { useShown } from '../app/shown'
import { toast } from '../app/toast'
import { useList, useOwns, useParam, usePermission, useWorkspace } from '../app/workspace'
import { Up } from '../app/up'
import { t } from '../text'
import { words } from '../text/sources'
import { Button, Card, Heading, Loading, Missing, Pill, Problem, When } from '../ui/basics'
import { Mapper } from '../ui/mapper'
import { Confirm, Tabs } from '../ui/overlays'
import { Bars } from '../ui/pictures'
import { More, Table } from '../ui/table'
import { DatesAs, headerOf, localeName, useSheet, useTypes } from './mapping'
import { Changes } from './source-changes'
import { Rows } from './source-rows'
import { Validate } from './source-validate'
import { Transforms, useTransformed } from './transform'
import { place, sourceTone } from './sources'

export function Source() {
  const workspace = useWorkspace()
  const navigate = useNavigate()
  const id = useParam('id')
  const may = usePermission()
  const owns = useOwns()
  const o = { workspace }
  const [tab, setTab] = useShown('tab', 'mapping')
  const [since, setSince] = useState<SourceChanges>() // the comparison whose rows are shown
  const source = useQuery({
    queryKey: ['source', id], queryFn: () => atrium.dataSources.get(id, o), refetchInterval: 10_000,
  })
  const refresh = useMutation({
    mutationFn: () => atrium.dataSources.refresh(id, o), onSuccess: () => queries.invalidateQueries({ queryKey: ['jobs', id] }),
  })
  const repair = useMutation({
    mutationFn: (mapping: SourcePair[]) => atrium.dataSources.map(id, { mapping }, { ...o, ifMatch: source.data! }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['source', id] }),
  })
  if (!source.data) return source.error ? <Missing title={t.source} up={<Up to="sources">{t.sources}</Up>} error={source.error} /> : <Loading />
  const s = source.data
  const mayChange = may('sources.create') && owns(s.owner_id, 'admin')
  return (
    <>
      <Heading title={s.name} up={<Up to="sources">{t.sources}</Up>}>
        <Pill tone={sourceTone(s.status)}>{s.status}</Pill>
        {may('sources.create') && <Button disabled={refresh.isPending} onClick={() => refresh.mutate()}>{words.readAgain}</Button>}
        {may('sources.create') && owns(s.owner_id, 'owner') && (
          <Confirm
            label={words.detach} title={words.detachNameName(s.name)} act={words.detach}
            body={words.applicationsCanNoLonger}
            run={async () => {
              await atrium.dataSources.detach(id, o)
              await queries.invalidateQueries({ queryKey: ['sources'] })
              void navigate({ to: `/w/${workspace}/sources` as string })
            }}
          />
        )}
      </Heading>
      <p className="mt-0 break-all text-soft">{place(s)} {words.readAt} <When at={s.last_refreshed_at} />{s.location.locale && words.datesOf(localeName(s.location.locale))}</p>
      <Problem error={refresh.error ?? repair.error} />
      {s.failure && <p role="alert" className="text-bad">{words.itCouldNotBe(s.failure.code, s.failure.hint)}</p>}
      {s.drift.level !== 'none' && <Drift source={s} {...(mayChange && { onRepair: repair.mutate })} />}
      <Tabs
        value={tab} onChange={setTab}
        tabs={[
          { id: 'mapping', label: words.mapping, body: mayChange ? <Mapping source={s} /> : <Mapped source={s} /> },
          ...(may('sources.create') && s.mapping.length > 0 ? [{ id: 'rows', label: words.rows, body: <Rows source={s} since={since} onAll={() => setSince(undefined)} /> }] : []),
          ...(s.mapping.length > 0 ? [{ id: 'validate', label: words.validate, body: <Validate source={s} mayRead={may('sources.create')} /> }] : []),
          { id: 'jobs', label: words.reads, body: <><Changes source={s} mayChange={mayChange} {...(may('sources.create') && { onShow: (c) => { setSince(c); setTab('rows') } })} /><Jobs id={id} /></> },
        ]}
      />
    </>
  )
}

const changeTone = { added: 'ok', removed: 'bad', renamed: 'warn', retyped: 'warn' } as Record<string, 'ok' | 'bad' | 'warn'>

/** The columns when they were mapped, and now, side by side: first those that have changed. */
function Drift({ source, onRepair }: { source: Data; onRepair?: (pairs: SourcePair[]) => void }) {
  const fieldOf = (column: string) => source.mapping.find((p) => p.column === column)?.field
  const changed = source.drift.columns.map(({ column, change, to }) => ({
    change, field: fieldOf(column),
    before: change === 'added' ? '' : column,
    now: change === 'removed' ? '' : change === 'renamed' ? (to ?? '') : change === 'retyped' ? `${column} (${to})` : column,
  }))
  const same = source.mapping.filter((p) => !source.drift.columns.some((c) => c.column === p.column))
  const rows = [...changed, ...same.map((p) => ({ before: p.column, now: p.column, change: 'same', field: p.field }))]
  const renamed = new Map(source.drift.columns.filter((c) => c.change === 'renamed').map((c) => [c.column, c.to]))
  const now = (column: string) => renamed.get(column) ?? column
  const repaired = source.mapping.map(({ transform, ...p }) => ({
    ...p, column: now(p.column),
    ...(transform && { transform: { ...transform, ...(transform.join && { join: { ...transform.join, columns: transform.join.columns.map(now) } }) } }),
  }))
  return (
    <Card
      title={words.theColumnsHaveChanged(source.drift.level)}
      actions={onRepair && renamed.size > 0 && <Button onClick={() => onRepair(repaired)}>{words.followTheRenamedColumns}</Button>}
    >
      <Table
        label={words.changedColumns} items={rows} id={(r) => r.before + '→' + r.now}
        columns={[
          { title: words.whenItWasMapped, cell: (r) => r.before || <span className="text-soft">–</span> },
          { title: words.now, cell: (r) => r.now || <span className="text-soft">–</span> },
          { title: words.change, narrow: true, cell: (r) => <Pill tone={changeTone[r.change] ?? 'plain'}>{r.change}</Pill> },
          { title: words.field, narrow: true, cell: (r) => r.field ?? <span className="text-soft">–</span> },
        ]}
      />
    </Card>
  )
}

/** The mapping for those who may not read the sheet itself. */
function Mapped({ source }: { source: Data }) {
  if (source.mapping.length === 0) return <p className="text-soft">{words.noColumnIsMapped}</p>
  return (
    <Table
      label={words.mapping} items={source.mapping} id={(p) => p.field}
      columns={[{ title: words.field, cell: (p) => p.field }, { title: words.column, cell: (p) => p.column }]}
    />
  )
}

function Mapping({ source }: { source: Data }) {
  const workspace = useWorkspace()
  const types = useTypes()
  const sheet = useSheet(source.location, source.type)
  const [edited, setEdited] = useState<{ pairs: SourcePair[]; from: Data }>() // the source when the editing began
  const pairs = edited?.pairs
  const setPairs = (next: SourcePair[] | undefined) => setEdited(next && { pairs: next, from: edited?.from ?? source })
  const save = useMutation({
    mutationFn: () => atrium.dataSources.map(source.id, {
      mapping: pairs ?? source.mapping, ...headerOf(sheet.data),
    }, { workspace, ifMatch: edited?.from ?? source }),
    onSuccess: async (saved) => {
      const { mapping, location } = edited?.from ?? source
      setPairs(undefined)
      toast(t.saved, mapping.length === 0 ? undefined : () => atrium.dataSources.map(
        source.id, { mapping, ...(location.header_row != null && { header_row: location.header_row }) }, { workspace, ifMatch: saved },
      ).then(refresh))
      await refresh()
    },
  })
  const refresh = () => queries.invalidateQueries({ queryKey: ['source', source.id] })
  const dates = useMutation({
    mutationFn: (locale: string) => atrium.dataSources.update(
      source.id, { locale: (locale || null) as SheetLocale | null }, { workspace, ifMatch: source }),
    onSuccess: async (saved) => {
      setEdited((e) => e && { ...e, from: saved })
      toast(t.saved, () => atrium.dataSources.update(
        source.id, { locale: source.location.locale ?? null }, { workspace, ifMatch: saved }).then(refresh))
      await refresh()
    },
  })
  const fields = types.data?.find((x) => x.type === source.type)?.fields
  const transformed = useTransformed(source.type, source.location.url ? 'sheet' : 'warehouse', sheet.data, pairs ?? source.mapping)
  if (sheet.error) return <Problem error={sheet.error} />
  if (!sheet.data || !fields) return <Loading />
  return (
    <>
      <DatesAs own={source.location.locale} shown={sheet.data.locale} busy={dates.isPending || sheet.isFetching} onChange={dates.mutate} />
      <Problem error={dates.error} />
      <Mapper fields={fields} sheet={sheet.data} pairs={pairs ?? source.mapping} onChange={setPairs} after={transformed.after} />
      <div className="mt-6"><Transforms fields={fields} sheet={sheet.data} pairs={pairs ?? source.mapping} onChange={setPairs} /></div>
      <Problem error={transformed.error} />
      <p className="flex gap-2">
        <Button tone="act" disabled={!pairs || save.isPending} onClick={() => save.mutate()}>{t.save}</Button>
        <Button disabled={!pairs} onClick={() => setPairs(undefined)}>{t.cancel}</Button>
      </p>
      <Problem error={save.error} />
    </>
  )
}

function Jobs({ id }: { id: string }) {
  const workspace = useWorkspace()
  const list = useList(['jobs', id], (cursor) => atrium.dataSources.jobs.list(id, { limit: 20, ...(cursor && { cursor }) }, { workspace }), 5000)
  if (list.isPending) return <Loading />
  const tone = { succeeded: 'ok', failed: 'bad', running: 'mark' } as Record<string, 'ok' | 'bad' | 'mark'>
  return (
    <>
      <Problem error={list.error} />
      {list.items.length === 0 && <p className="text-soft">{words.itHasNotBeen}</p>}
      {list.items.length > 0 && (
        <Bars
          label={words.howLongTheReads}
          bars={list.items.filter((j) => j.started_at && j.ended_at).reverse().map((j) => {
            const ms = Date.parse(j.ended_at!) - Date.parse(j.started_at!)
            return { key: j.id, value: ms, bad: j.state === 'failed', title: words.msValueValueState(new Date(j.started_at!).toLocaleString(), j.state, ms) }
          })}
        />
      )}
      {list.items.length > 0 && (
        <Table
          label={words.reads} items={list.items} id={(j) => j.id}
          columns={[
            { title: t.state, narrow: true, cell: (j) => <Pill tone={tone[j.state] ?? 'plain'}>{j.state}</Pill> },
            { title: t.began, narrow: true, cell: (j) => <When at={j.started_at ?? j.created_at} /> },
            { title: words.failure, cell: (j) => j.failure ?? '–' },
            { title: words.attempt, narrow: true, cell: (j) => j.attempt },
          ]}
        />
      )}
      <More list={list} />
    </>
  )
}
