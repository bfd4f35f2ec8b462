import type { Source, SourceChanges } from '@atrium-hq/client'
import { atrium, queries } from '../api'
import { useMutation } from '../app/mutation'
import { useList, useWorkspace } from '../app/workspace'
import { Button, Loading, Problem, When } from '../ui/basics'
import { Select } from '../ui/form'
import { More, Table } from '../ui/table'
import { t } from '../text'
import { words } from '../text/sources'

/** How many rows were added, changed and removed between refreshes, and the field that tells rows apart. */
export function Changes({ source, mayChange, onShow }: { source: Source; mayChange: boolean; onShow?: (c: SourceChanges) => void }) {
  const workspace = useWorkspace()
  const list = useList(['changes', source.id], (cursor) => atrium.dataSources.changes.list(
    source.id, { limit: 20, ...(cursor && { cursor }) }, { workspace }))
  const track = useMutation({
    mutationFn: (field: string) => atrium.dataSources.update(source.id, { change_key: field || null }, { workspace, ifMatch: source }),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['source', source.id] })
      await queries.invalidateQueries({ queryKey: ['changes', source.id] })
    },
  })
  const whole = source.mapping.filter((p) => !p.transform?.split && !p.transform?.join)
  if (list.isPending) return <Loading />
  return (
    <>
      {mayChange && (
        <div className="max-w-sm">
          <Select
            label={words.compareRowsBy} hint={words.compareHint} name="change_key" value={source.change_key ?? ''} disabled={track.isPending}
            choices={[{ value: '', label: words.compareNot }, ...whole.map((p) => ({ value: p.field, label: p.field }))]}
            onChange={(e) => track.mutate(e.target.value)}
          />
        </div>
      )}
      <Problem error={list.error ?? track.error} />
      {list.items.length > 0 && (
        <Table
          label={words.changesOfRows} items={list.items} id={(c) => c.at}
          columns={[
            { title: words.comparedAt, narrow: true, cell: (c) => <When at={c.at} /> },
            { title: words.rows, narrow: true, cell: (c) => c.rows },
            { title: words.addedRows, narrow: true, cell: (c) => (c.first ? words.firstComparison : c.added) },
            { title: words.changedRows, narrow: true, cell: (c) => (c.first ? '' : c.changed) },
            { title: words.removedRows, narrow: true, cell: (c) => (c.first ? '' : c.removed) },
            ...(onShow && source.mapping.length > 0 ? [{
              title: t.actions, narrow: true,
              cell: (c: SourceChanges) => !c.first && <Button onClick={() => onShow(c)}>{words.showRows}</Button>,
            }] : []),
          ]}
        />
      )}
      <More list={list} />
    </>
  )
}
