import { Link } from '@tanstack/react-router'
import type { Source } from '@atrium-hq/client'
import { atrium } from '../api'
import { useList, usePermission, useWorkspace } from '../app/workspace'
import { t } from '../text'
import { words } from '../text/sources'
import { Empty, Heading, Loading, Pill, Problem, When } from '../ui/basics'
import { AddIcon } from '../ui/icons'
import { More, Table } from '../ui/table'

export const sourceTone = (status: string) =>
  ({ active: 'ok', unmapped: 'warn', drifted: 'warn', paused: 'plain', failing: 'bad' } as const)[status] ?? 'plain'

/** Where a source reads, as people say it. */
export function place(s: Source): string {
  const { url, tab, schema, table } = s.location
  return url ? url + (tab ? ` · ${tab}` : '') : [schema, table].filter(Boolean).join('.')
}

export function Sources() {
  const workspace = useWorkspace()
  const may = usePermission()
  const list = useList(['sources', workspace], (cursor) => atrium.dataSources.list({ limit: 50, ...(cursor && { cursor }) }, { workspace }))
  return (
    <>
      <Heading title={t.sources}>
        {may('sources.create') && (
          <Link data-key="c" className="inline-flex items-center gap-1.5 rounded-md bg-act px-3 py-1.5 font-medium text-on no-underline shadow-xs hover:opacity-90" to={`/w/${workspace}/sources/new` as string}>
            <AddIcon size={16} aria-hidden="true" />{t.newSource}
          </Link>
        )}
      </Heading>
      <Problem error={list.error} />
      {list.isPending && <Loading />}
      {list.isSuccess && list.items.length === 0 && (
        <Empty title={words.thereAreNoData}>
          {words.aSourceIsA}
        </Empty>
      )}
      {list.items.length > 0 && (
        <Table
          label={t.sources} items={list.items} id={(s) => s.id} csv="sources"
          columns={[
            {
              title: t.name, text: (s) => s.name,
              cell: (s) => (
                <>
                  <Link className="font-medium" to={`/w/${workspace}/sources/${s.id}` as string}>{s.name}</Link>
                  <p className="m-0 text-xs break-all text-soft">{place(s)}</p>
                </>
              ),
            },
            { title: t.type, narrow: true, cell: (s) => s.type, text: (s) => s.type },
            { title: t.status, narrow: true, cell: (s) => <Pill tone={sourceTone(s.status)}>{s.status}</Pill>, text: (s) => s.status },
            { title: words.lastRead, narrow: true, cell: (s) => <When at={s.last_refreshed_at} />, text: (s) => s.last_refreshed_at ?? '' },
            {
              title: words.next, narrow: true, text: (s) => s.next_refresh_at ?? '',
              cell: (s) => (s.next_refresh_at ? <When at={s.next_refresh_at} /> : <span className="text-soft">–</span>),
            },
          ]}
        />
      )}
      <More list={list} />
    </>
  )
}
